// Time and memory of a replay before it runs, from limits measured on the device at hand.
#pragma once

#include <cstdint>

#include "core/result.h"
#include "et_schema/graph.h"
#include "kernels/device.h"
#include "replayer/memory/memory_plan.h"
#include "replayer/plan/options.h"
#include "replayer/plan/plan.h"

namespace reprise {

// Measured in some 100 ms: a float32 GEMM and a buffer copy, best of a few.
struct DeviceLimits {
  double flops_per_second = 0;
  double bytes_per_second = 0;
};
[[nodiscard]] Result<DeviceLimits> MeasureLimits(Device& device);

struct Estimate {
  std::int64_t compute_ns = 0;   // per iteration: Σ max(FLOPs / rate, bytes / rate)
  std::int64_t recorded_ns = 0;  // the same nodes as recorded
  std::int64_t memory_bytes = 0;
};
// Only nodes that execute count (real and surrogate). `limits` were measured with the device to one
// rank alone; `slowdown` ≥ 1 is what sharing it with others costs.
[[nodiscard]] Estimate EstimateReplay(const Graph& graph, const Plan& plan,
                                      const MemoryPlan& memory, const DeviceLimits& limits,
                                      double slowdown);
// Beyond 20× the recorded time (where there is one) and half a minute in all, or beyond the
// device's memory: environment error with the ways out.
[[nodiscard]] Status CheckEstimate(const Estimate& estimate, const DeviceInfo& device,
                                   int ranks_sharing_device, const ReplayOptions& options);

}  // namespace reprise
