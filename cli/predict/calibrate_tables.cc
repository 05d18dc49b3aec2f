#include "cli/predict/calibrate_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/counted.h"
#include "core/shown_text.h"

namespace reprise {

Result<std::vector<FittedTable>> FitTables(const DeviceModel& device,
                                           const std::vector<std::string>& paths,
                                           const std::vector<std::string>& columns) {
  std::vector<FittedTable> fitted;
  for (const std::string& path : paths) {
    REPRISE_ASSIGN(KernelTable table, ReadKernelTable(path, columns));
    for (const FittedTable& before : fitted) {
      if (before.table.op_class == table.op_class) {
        return UsageError(fmt::format(
            "{} and {} are both of class {}; make one table of them, or calibrate twice",
            ShownText(before.table.name), ShownText(table.name), Name(table.op_class)));
      }
    }
    REPRISE_ASSIGN(TableFit fit, FitTable(device, table));
    fitted.push_back({std::move(table), std::move(fit)});
  }
  return fitted;
}

void TakeTables(std::span<const FittedTable> tables, MachineModel& machine) {
  std::string names;
  double rows = 0;
  for (const FittedTable& fitted : tables) {
    ClassEfficiency own = fitted.fit.of_class;
    if (const ClassEfficiency* const before = FindClass(machine.device, own.op_class)) {
      own.shape.backward = before->shape.backward;
      for (ClassEfficiency::OfType& of_type : own.types) {
        of_type.shape.backward = before->shape.backward;
      }
    }
    std::erase_if(machine.device.classes, [&own](const ClassEfficiency& of_class) {
      return of_class.op_class == own.op_class;
    });
    machine.device.classes.push_back(std::move(own));
    names += (names.empty() ? "" : ", ") + fitted.table.name;
    for (const TableErrors& errors : fitted.fit.errors) {
      rows += static_cast<double>(errors.rows);
    }
  }
  if (!tables.empty() && !machine.calibration) {
    machine.calibration = {
        .on = names,
        .points = SourcedNumber{rows, "1", NumberSource::kMeasured, "rows: shape and type"}};
  }
}

Json TablesJson(std::span<const FittedTable> tables) {
  Json json = Json::array();
  for (const auto& [table, fit] : tables) {
    Json types = Json::object();
    for (const TableErrors& errors : fit.errors) {
      Json& type = types[std::string(Name(errors.dtype))];
      REPRISE_ADD_FIELDS(type, errors, rows, outliers)
      type["error"] = errors.fitted;
      type["error_large"] = errors.fitted_large;
      type["error_left_out"] = errors.left_out;
      type["error_constant"] = errors.constant;
      type["error_peaks"] = errors.peaks;
    }
    json.push_back({{"table", table.name},
                    {"class", Name(table.op_class)},
                    {"rows_of_other_types", table.other_types},
                    {"rows_contradicting", table.contradicting},
                    {"rows_beyond_limit", table.beyond_limit},
                    {"types", std::move(types)}});
  }
  return json;
}

void PrintTables(std::span<const FittedTable> tables) {
  fmt::print(
      "median error of a kernel's time: of rows fitted, of those from 1e11 FLOPs on, and of\n"
      "sizes left out of the fit; beside it one constant for all, and the peaks alone\n");
  fmt::print("{:<11}{:<15}{:>9}{:>9}{:>9}{:>10}{:>10}{:>9}\n", "class", "type", "rows", "fitted",
             "large", "left out", "constant", "peaks");
  for (const auto& [table, fit] : tables) {
    for (const TableErrors& errors : fit.errors) {
      const auto percent = [](std::optional<double> part) {
        return part ? fmt::format("{:.1f} %", 100 * *part) : "-";
      };
      fmt::print("{:<11}{:<15}{:>9}{:>9}{:>9}{:>10}{:>10}{:>9}\n", Name(table.op_class),
                 Name(errors.dtype), errors.rows, percent(errors.fitted),
                 percent(errors.fitted_large), percent(errors.left_out), percent(errors.constant),
                 percent(errors.peaks));
    }
  }
  for (const auto& [table, fit] : tables) {
    for (const TableErrors& errors : fit.errors) {
      if (errors.outliers > 0) {
        fmt::print("{}: {} of {} left out, off by more than a factor of 2 from a first fit\n",
                   ShownText(table.name), Counted(errors.outliers, "row"), Name(errors.dtype));
      }
    }
    if (table.contradicting > 0) {
      fmt::print(
          "{}: {} left out, more than twice or less than half of an earlier row of the same "
          "shape and type\n",
          ShownText(table.name), Counted(table.contradicting, "row"));
    }
    if (table.beyond_limit > 0) {
      fmt::print("{}: {} without watts: they have more than {:g} times their limit\n",
                 ShownText(table.name), Counted(table.beyond_limit, "row"), kMostOfLimit);
    }
    if (table.other_types > 0) {
      fmt::print("{}: {} of types that its file of columns does not name were not read\n",
                 ShownText(table.name), Counted(table.other_types, "row"));
    }
  }
}

}  // namespace reprise
