// Which dimensions of a view are those of the tensor that it is of.
#pragma once

#include <cstddef>
#include <vector>

#include "et_schema/node.h"

namespace reprise {

struct ViewedDimension {
  const TensorDesc* of = nullptr;
  const TensorDesc* view = nullptr;
  std::size_t dim = 0, view_dim = 0;
};

// Of an operator that gives another view of its first argument's storage, or several. Those of one
// element are among them, as far as the operator tells them apart: a view in another shape shares
// equal sizes from the first dimension on, then those from the last one on. None of other nodes,
// and of views whose operator is not known.
[[nodiscard]] std::vector<ViewedDimension> ViewedDimensionsOf(const Node& node);

}  // namespace reprise
