// Timing of one prepared call for kernel_bench/kernel_bench.h.
#pragma once

#include <memory>
#include <vector>

#include "kernel_bench/kernel_bench.h"

namespace reprise {

// The launches of a call, once for each copy of its operands.
using BenchRuns = std::vector<std::vector<std::unique_ptr<PreparedLaunch>>>;

// Warms up (compiling, pages, clocks), then fills in the times of `row` and its share of the copy
// limit, by turns with copies of `probe` (null: only the times).
[[nodiscard]] Status TimeRuns(Stream& stream, const BenchRuns& runs,
                              const KernelBenchOptions& options, LimitProbe* probe,
                              KernelBenchRow& row);

}  // namespace reprise
