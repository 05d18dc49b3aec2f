// Executions as operations with times.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "report/operations/job_operations.h"
#include "report/run/run.h"

namespace reprise {

// Of a run or a trace set: medians over iterations. Of a trace set, callers, modules, types and
// weights besides. Bad input: it has no operations (it watched a program), or no iteration was
// finished.
[[nodiscard]] Result<JobOperations> OperationsOf(const RunData& run);

// A slice and, of the device's, the end of its launch; INT64_MIN: not recorded.
using LaunchedSlice = std::pair<BusySlice, std::int64_t>;
// Sorts both into the rank; of one thread, operations are in order. Of each device slice in
// `slices` the end of its launch.
[[nodiscard]] std::vector<std::int64_t> TakeSorted(std::vector<TimedOperation> operations,
                                                   std::vector<LaunchedSlice> slices,
                                                   RankOperations& rank);

// Fills `activity` and `slices` from operations and from device events that belong to none.
// `launched_ns`: of each device slice in `slices` the end of its launch, INT64_MIN: not recorded.
struct StepWindow {
  std::int64_t start_ns = 0, end_ns = 0;
};
void MeasureActivity(std::span<const StepWindow> steps, std::span<const std::int64_t> launched_ns,
                     RankOperations& rank);

}  // namespace reprise
