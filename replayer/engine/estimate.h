// Time and memory of a replay before it runs, from limits measured on the device at hand.
#pragma once

#include <cstdint>
#include <set>

#include "core/result.h"
#include "et_schema/graph.h"
#include "kernels/device.h"
#include "replayer/engine/replay_options.h"
#include "replayer/memory/memory_plan.h"
#include "replayer/plan/plan.h"

namespace reprise {

// Measured in some 100 ms, best of a few: a buffer copy, and products of matrices by the project's
// own kernel. Products may run on matrix units, by type; all else computes as float32 products do.
struct DeviceLimits {
  double bytes_per_second = 0;
  double flops_per_second = 0;           // of float32 products
  double float16_flops_per_second = 0;   // 0: not measured
  double bfloat16_flops_per_second = 0;  // likewise

  [[nodiscard]] double FlopsOf(OpClass op_class, DType dtype) const;
};
// Products of float32, and of those of `dtypes` that DeviceLimits has.
[[nodiscard]] Result<DeviceLimits> MeasureLimits(Device& device, const std::set<DType>& dtypes);
// Of the products that `plan` runs.
[[nodiscard]] std::set<DType> ProductTypes(const Graph& graph, const Plan& plan);

// What the device needs for the work of a node, without its stretch.
[[nodiscard]] double EstimateSeconds(const Work& work, OpClass op_class,
                                     const DeviceLimits& limits);

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
