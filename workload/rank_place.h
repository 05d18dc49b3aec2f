// Where a rank stands in the layout, in Megatron's order: tensor, context, data, pipeline.
#pragma once

#include <cstdint>
#include <vector>

#include "workload/description.h"

namespace reprise {

struct Place {
  std::int64_t tp = 0, cp = 0, dp = 0, pp = 0;
};
[[nodiscard]] Place PlaceOf(const Layout& layout, std::int64_t rank);

// Axes of the mesh of ranks, innermost first. Data-parallel ranks are two axes: position in the
// group of experts, and number of that group.
inline constexpr std::size_t kTensorAxis = 0, kContextAxis = 1, kExpertAxis = 2, kReplicaAxis = 3,
                             kStageAxis = 4;
[[nodiscard]] std::vector<std::int64_t> MeshOf(const Layout& layout);

}  // namespace reprise
