#include "predict/calibration/kernel_fits.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/counted.h"
#include "core/median.h"
#include "core/shown_text.h"
#include "predict/calibration/log_fit.h"

namespace reprise {
namespace {

std::string TypeOf(const KernelRow& row) {
  return std::string(row.collective ? Name(row.collective->kind) : Name(row.work.dtype));
}

// With the machine's numbers, by row; 0 where it has none.
std::vector<double> PredictedNs(const MachineModel& machine, const KernelTable& table) {
  if (table.of_class == TableClass::kCollective) {
    return CollectiveNs(machine, table.rows);
  }
  std::vector<double> ns;
  ns.reserve(table.rows.size());
  for (const KernelRow& row : table.rows) {
    const DType dtype = row.work.dtype;
    if (!row.experts) {
      ns.push_back(RooflineOf(machine.device, row.work).ns);
    } else if (const ExpertNumbers* const numbers = FindExperts(machine.device, dtype)) {
      ns.push_back(ExpertNs(machine.device, *numbers, WorkOf(*row.experts, dtype), dtype));
    } else {
      ns.push_back(0);
    }
  }
  return ns;
}

void AddErrorsOf(const MachineModel& other, FittedTable& fitted) {
  const std::vector<double> predicted = PredictedNs(other, fitted.table);
  std::map<std::string, std::vector<double>> errors;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const KernelRow& row = fitted.table.rows[i];
    if (predicted[i] > 0) {
      errors[TypeOf(row)].push_back(RelativeError(predicted[i], row.ns));
    }
  }
  for (TableErrors& of_type : fitted.errors) {
    of_type.other = Median(errors[of_type.type]);
  }
}

Result<FittedTable> FitOne(const MachineModel& machine, KernelTable table) {
  FittedTable fitted;
  const std::size_t read = table.rows.size();
  LeaveOutUnpredictable(machine.device, table);
  if (table.rows.empty()) {
    return BadInput(fmt::format(
        "{}: all of {} are shorter than {}'s least kernel time, or faster than its memory: is the "
        "machine the table's, and the unit of time right?",
        table.name, Counted(read, "row"), machine.name));
  }
  switch (table.of_class) {
    case TableClass::kGemm:
    case TableClass::kAttention:
    case TableClass::kReduction: {
      REPRISE_ASSIGN(TableFit fit, table.of_class == TableClass::kReduction
                                       ? FitMemoryBound(machine.device, table)
                                       : FitTable(machine.device, table));
      fitted.errors = std::move(fit.errors);
      fitted.of_class = std::move(fit.of_class);
      break;
    }
    case TableClass::kExperts: {
      REPRISE_ASSIGN(ExpertFit fit, FitExperts(machine.device, table));
      fitted.errors = std::move(fit.errors);
      fitted.experts = std::move(fit.types);
      break;
    }
    case TableClass::kCollective: {
      REPRISE_ASSIGN(fitted.collectives, FitCollectives(machine, table));
      fitted.errors = fitted.collectives->errors;
      break;
    }
  }
  fitted.table = std::move(table);
  return fitted;
}

void TakeClass(ClassEfficiency own, DeviceModel& device) {
  if (const ClassEfficiency* const before = FindClass(device, own.op_class)) {
    own.shape.backward = before->shape.backward;
    for (ClassEfficiency::OfType& of_type : own.types) {
      of_type.shape.backward = before->shape.backward;
    }
  }
  std::erase_if(device.classes, [&own](const ClassEfficiency& of_class) {
    return of_class.op_class == own.op_class;
  });
  device.classes.push_back(std::move(own));
}

void TakeExperts(const std::vector<ExpertNumbers>& experts, DeviceModel& device) {
  for (const ExpertNumbers& of_type : experts) {
    std::erase_if(device.experts, [&of_type](const ExpertNumbers& before) {
      return before.dtype == of_type.dtype;
    });
    device.experts.push_back(of_type);
  }
}

void TakeErrors(const FittedTable& fitted, MachineModel& machine) {
  const std::string of_class(Name(fitted.table.of_class));
  std::erase_if(machine.fits, [&](const FitErrors& before) { return before.of_class == of_class; });
  for (const TableErrors& errors : fitted.errors) {
    if (errors.rows > 0) {
      machine.fits.push_back({of_class, errors.type, static_cast<std::int64_t>(errors.rows),
                              errors.fitted, errors.left_out, errors.constant, fitted.table.name});
    }
  }
}

}  // namespace

Result<std::vector<KernelTable>> ReadTables(const std::vector<std::string>& paths,
                                            const std::vector<std::string>& columns) {
  std::vector<KernelTable> tables;
  for (const std::string& path : paths) {
    REPRISE_ASSIGN(tables.emplace_back(), ReadKernelTable(path, columns));
  }
  return tables;
}

Result<std::vector<FittedTable>> FitTables(const MachineModel& machine,
                                           std::vector<KernelTable> tables,
                                           const MachineModel* other) {
  std::vector<FittedTable> all;
  for (KernelTable& table : tables) {
    for (const FittedTable& before : all) {
      if (before.table.of_class == table.of_class) {
        return UsageError(fmt::format(
            "{} and {} are both of class {}; make one table of them, or calibrate twice",
            ShownText(before.table.name), ShownText(table.name), Name(table.of_class)));
      }
    }
    REPRISE_ASSIGN(FittedTable fitted, FitOne(machine, std::move(table)));
    if (other != nullptr) {
      AddErrorsOf(WithNumbersOf(machine, *other), fitted);
    }
    all.push_back(std::move(fitted));
  }
  return all;
}

void TakeTables(std::span<const FittedTable> tables, MachineModel& machine) {
  for (const FittedTable& fitted : tables) {
    if (fitted.of_class) {
      TakeClass(*fitted.of_class, machine.device);
    }
    TakeExperts(fitted.experts, machine.device);
    if (fitted.collectives) {
      machine.collectives = fitted.collectives->collectives;
      machine.links.front() = fitted.collectives->link;
    }
    TakeErrors(fitted, machine);
  }
}

MachineModel WithNumbersOf(const MachineModel& machine, const MachineModel& other) {
  MachineModel with = machine;
  DeviceModel& device = with.device;
  device.classes = other.device.classes;
  device.experts = other.device.experts;
  device.gemm_efficiency = other.device.gemm_efficiency;
  device.attention_efficiency = other.device.attention_efficiency;
  device.conv_efficiency = other.device.conv_efficiency;
  device.memory_efficiency = other.device.memory_efficiency;
  device.kernel_least_ns = other.device.kernel_least_ns;
  with.collectives = other.collectives;
  if (!with.links.empty() && !other.links.empty()) {
    LinkLevel& link = with.links.front();
    const LinkLevel& from = other.links.front();
    link.latency_ns = from.latency_ns;
    link.short_latency_ns = from.short_latency_ns;
    link.efficiency = from.efficiency;
    link.in_switch = from.in_switch;
    link.in_switch_latency_ns = from.in_switch_latency_ns;
  }
  return with;
}

}  // namespace reprise
