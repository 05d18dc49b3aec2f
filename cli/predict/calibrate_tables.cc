#include "cli/predict/calibrate_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/counted.h"
#include "core/shown_text.h"

namespace reprise {

Json TablesJson(std::span<const FittedTable> tables) {
  Json json = Json::array();
  for (const FittedTable& fitted : tables) {
    const KernelTable& table = fitted.table;
    Json types = Json::object();
    for (const TableErrors& errors : fitted.errors) {
      Json& type = types[errors.type];
      REPRISE_ADD_FIELDS(type, errors, rows, outliers)
      type["error"] = errors.fitted;
      type["error_large"] = errors.fitted_large;
      type["error_left_out"] = errors.left_out;
      type["error_constant"] = errors.constant;
      type["error_peaks"] = errors.peaks;
      type["error_other"] = errors.other;
    }
    json.push_back({{"table", table.name},
                    {"class", Name(table.of_class)},
                    {"rows_of_other_types", table.other_types},
                    {"rows_contradicting", table.contradicting},
                    {"rows_beyond_limit", table.beyond_limit},
                    {"rows_from_caches", table.from_caches},
                    {"rows_below_least", table.below_least},
                    {"types", std::move(types)}});
  }
  return json;
}

void PrintTables(std::span<const FittedTable> tables) {
  fmt::print(
      "median error of a kernel's time: of rows fitted, of those from 1e11 FLOPs on, and of\n"
      "sizes left out of the fit; beside it one constant for all, the peaks alone, and the "
      "numbers\n"
      "of another machine (--numbers-of) at these peaks\n");
  const bool others = std::ranges::any_of(tables, [](const FittedTable& fitted) {
    return std::ranges::any_of(fitted.errors,
                               [](const TableErrors& errors) { return errors.other.has_value(); });
  });
  fmt::print("{:<11}{:<15}{:>9}{:>9}{:>9}{:>10}{:>10}{:>9}{}\n", "class", "type", "rows", "fitted",
             "large", "left out", "constant", "peaks", others ? "     other" : "");
  for (const FittedTable& fitted : tables) {
    const KernelTable& table = fitted.table;
    for (const TableErrors& errors : fitted.errors) {
      const auto percent = [](std::optional<double> part) {
        return part ? fmt::format("{:.1f} %", 100 * *part) : "-";
      };
      fmt::print("{:<11}{:<15}{:>9}{:>9}{:>9}{:>10}{:>10}{:>9}{}\n", Name(table.of_class),
                 errors.type, errors.rows, percent(errors.fitted), percent(errors.fitted_large),
                 percent(errors.left_out), percent(errors.constant), percent(errors.peaks),
                 others ? fmt::format("{:>10}", percent(errors.other)) : "");
    }
  }
  for (const FittedTable& fitted : tables) {
    const KernelTable& table = fitted.table;
    for (const TableErrors& errors : fitted.errors) {
      if (errors.outliers > 0) {
        fmt::print("{}: {} of {} left out, off by more than a factor of 2 from a first fit\n",
                   ShownText(table.name), Counted(errors.outliers, "row"), errors.type);
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
    if (table.from_caches > 0) {
      fmt::print("{}: {} left out, faster than the memory's peak allows: served by caches\n",
                 ShownText(table.name), Counted(table.from_caches, "row"));
    }
    if (table.below_least > 0) {
      fmt::print("{}: {} left out, shorter than the machine's least kernel time\n",
                 ShownText(table.name), Counted(table.below_least, "row"));
    }
    if (table.other_types > 0) {
      fmt::print("{}: {} of types that its file of columns does not name were not read\n",
                 ShownText(table.name), Counted(table.other_types, "row"));
    }
  }
}

}  // namespace reprise
