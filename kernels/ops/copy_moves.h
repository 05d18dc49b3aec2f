// The plans of what only moves elements within a tensor.
#pragma once

#include <optional>

#include "kernels/ops/copy_plan.h"

namespace reprise {

// flip(self, dims), roll(self, shifts, dims)
[[nodiscard]] std::optional<CopyPlan> PlanFlip(const OpCall& call);
[[nodiscard]] std::optional<CopyPlan> PlanRoll(const OpCall& call);

}  // namespace reprise
