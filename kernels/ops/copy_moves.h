// Views that copy plans are made of, and the plans of what only moves elements within a tensor.
#pragma once

#include <optional>
#include <vector>

#include "kernels/ops/copy_plan.h"

namespace reprise {

// Another view of the tensor's storage.
[[nodiscard]] TensorDesc ViewOf(const TensorDesc& tensor, std::vector<std::int64_t> shape,
                                std::vector<std::int64_t> strides, std::int64_t offset);
// `length` elements from `start` on along `dim`.
[[nodiscard]] TensorDesc NarrowedAt(const TensorDesc& tensor, std::size_t dim, std::int64_t start,
                                    std::int64_t length);

// flip(self, dims), roll(self, shifts, dims)
[[nodiscard]] std::optional<CopyPlan> PlanFlip(const OpCall& call);
[[nodiscard]] std::optional<CopyPlan> PlanRoll(const OpCall& call);

}  // namespace reprise
