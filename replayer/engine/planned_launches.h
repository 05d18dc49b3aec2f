// What each node of a plan launches. Here it is decided whether a node runs: one without a launch
// does not, whatever was planned.
#pragma once

#include <functional>
#include <vector>

#include "kernels/call_lowering.h"
#include "replayer/engine/replay_options.h"
#include "replayer/plan/plan.h"

namespace reprise {

struct PlannedLaunches {
  std::vector<Launch> launches;
  std::vector<std::uint32_t> begin;  // those of node i: [begin[i], begin[i + 1])
};

// Scratch memory of an actor of the plan (LowerContext::scratch).
using ActorScratch =
    std::function<Result<Buffer*>(std::uint32_t actor, int slot, std::int64_t bytes)>;

// Of all compute nodes that are real or surrogates. One with nothing to launch becomes timed in
// `plan` and is counted, unless its results have no elements. A copy between host and device
// becomes a surrogate where the device has memory of its own: it stays within that.
[[nodiscard]] Result<PlannedLaunches> LowerPlan(const Graph& graph, const ReplayOptions& options,
                                                const Bindings& memory, const DeviceInfo& device,
                                                const CallLowering& lowering,
                                                const ActorScratch& scratch, Plan& plan);

}  // namespace reprise
