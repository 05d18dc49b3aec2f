// Preparing and timing one call, for kernel_bench.h and tune.h.
#pragma once

#include <memory>
#include <vector>

#include "kernels/bench/bench_memory.h"
#include "kernels/bench/kernel_bench.h"

namespace reprise {

// The launches of a call, once for each copy of its operands.
using BenchRuns = std::vector<std::vector<std::unique_ptr<PreparedLaunch>>>;

// `call` by `kernel` for each copy of its operands in `memory`. `info` is the device's, perhaps
// with other tuning.
[[nodiscard]] Result<BenchRuns> PrepareRuns(Device& device, const DeviceInfo& info,
                                            const Kernel& kernel, const OpCall& call,
                                            BenchMemory& memory);

// Warms up (compiling, pages, clocks), then fills in the times of `row` and its share of the copy
// limit, by turns with copies of `probe` (null: only the times).
[[nodiscard]] Status TimeRuns(Stream& stream, const BenchRuns& runs,
                              const KernelBenchOptions& options, LimitProbe* probe,
                              KernelBenchRow& row);

}  // namespace reprise
