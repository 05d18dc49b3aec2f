// All tables of a call of `reprise calibrate`: read, each fitted by its class's fit, and taken into
// a machine.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "predict/calibration/collective_fit.h"
#include "predict/calibration/work_fit.h"

namespace reprise {

// Exactly one of the three is there.
struct FittedTable {
  KernelTable table;
  std::vector<TableErrors> errors;
  std::optional<ClassEfficiency> of_class;
  std::optional<CollectiveFit> collectives;
  std::vector<ExpertNumbers> experts;
};

// ReadKernelTable of each.
[[nodiscard]] Result<std::vector<KernelTable>> ReadTables(const std::vector<std::string>& paths,
                                                          const std::vector<std::string>& columns);

// In their order. `other`: of a machine whose numbers, at the peaks of `machine`, predict the
// tables, too; none: nullptr. Usage error: two tables of one class. Bad input: a table that cannot
// be fitted.
[[nodiscard]] Result<std::vector<FittedTable>> FitTables(const MachineModel& machine,
                                                         std::vector<KernelTable> tables,
                                                         const MachineModel* other);

// The tables' numbers instead of the machine's own, but for the rate of attention's backward, which
// tables do not have; and their errors (`fits`). A table says nothing of a job's software, so that
// the machine gets no `calibration`.
void TakeTables(std::span<const FittedTable> tables, MachineModel& machine);

// `machine` with the efficiencies of `other`: those of classes, of expert layers, of collectives,
// and of the innermost link. Peaks, bandwidths and all other links stay.
[[nodiscard]] MachineModel WithNumbersOf(const MachineModel& machine, const MachineModel& other);

}  // namespace reprise
