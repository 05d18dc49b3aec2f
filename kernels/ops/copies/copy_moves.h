// Copy plans of operators that only move elements within a tensor.
#pragma once

#include <optional>

#include "kernels/ops/copies/copy_plan.h"

namespace reprise {

// flip(self, dims), roll(self, shifts, dims)
[[nodiscard]] std::optional<CopyPlan> PlanFlip(const OpCall& call);
[[nodiscard]] std::optional<CopyPlan> PlanRoll(const OpCall& call);
// pixel_shuffle(self, upscale_factor), pixel_unshuffle(self, downscale_factor),
// channel_shuffle(self, groups)
[[nodiscard]] std::optional<CopyPlan> PlanPixelShuffle(const OpCall& call);
[[nodiscard]] std::optional<CopyPlan> PlanChannelShuffle(const OpCall& call);

}  // namespace reprise
