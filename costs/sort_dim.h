// Which dimension sorting goes along.
#pragma once

#include <cstddef>
#include <optional>

#include "core/value.h"

namespace reprise {

// sort(self, dim, descending), sort.stable(self, stable, dim, descending), argsort alike,
// topk(self, k, dim, largest, sorted): the place of `dim` among the arguments.
[[nodiscard]] std::size_t SortDimArgument(const OpCall& call);

// The dimension, 0 for a scalar; nothing if self has no such dimension, or is no tensor.
[[nodiscard]] std::optional<std::size_t> SortDim(const OpCall& call);

}  // namespace reprise
