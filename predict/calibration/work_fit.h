// The numbers of operations that have few: memory-bound reductions, and layers of experts.
#pragma once

#include <vector>

#include "core/result.h"
#include "predict/calibration/kernel_table.h"
#include "predict/calibration/table_fit.h"
#include "predict/machine/machine.h"

namespace reprise {

// Of reductions, rows that no prediction of this machine can meet, and that say nothing about it:
// shorter than its least kernel time (kernels of a loop may overlap), or faster than the memory's
// peak (a loop over one kernel is served by caches). Counted in the table. Other classes stay.
void LeaveOutUnpredictable(const DeviceModel& device, KernelTable& table);

// `start` and `memory` of the table's class, by type: time = start + bytes / (bandwidth × memory).
// Left out of fits by turns: a fifth of all sizes in bytes. Bad input: fewer than 50 rows of a
// type.
[[nodiscard]] Result<TableFit> FitMemoryBound(const DeviceModel& device, const KernelTable& table);

struct ExpertFit {
  std::vector<ExpertNumbers> types;
  std::vector<TableErrors> errors;  // by type
};
// Times are those of ExpertNs. Left out by turns: a fifth of all numbers of tokens, of experts and
// of hidden sizes. Bad input: fewer than 50 rows of a type; a type that the device has no rate for.
[[nodiscard]] Result<ExpertFit> FitExperts(const DeviceModel& device, const KernelTable& table);

}  // namespace reprise
