// Which dimensions of an operator's tensors are the same: of m, n and k of a product, say.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "et_schema/node.h"

namespace reprise {

struct TensorDimension {
  const TensorDesc* tensor = nullptr;
  std::size_t dim = 0;
  // The operator gives the tensor this one's order of dimensions in memory; null: not known.
  const TensorDesc* laid_like = nullptr;
};
// They are divided among ranks together, or none of them is.
using SameDimension = std::vector<TensorDimension>;
// Dimensions of one element at the same place, operands' first. A result's is as large as the
// largest of its operands': any of the others may be broadcast.
struct OneElement {
  SameDimension all;
  std::size_t results = 0;  // the index of the first result
};

struct SameDimensions {
  std::vector<SameDimension> all;
  // The index of the one over which the operator sums. If ranks sum its results, it is this one
  // that they divide.
  std::optional<std::size_t> summed;
  // The index of the one along which the operator joins a list.
  std::optional<std::size_t> joined;
  // Those of one element are not among them, but for heads of attention and of what is joined.
  std::vector<OneElement> ones;
  // The index of the one that attention's heads are.
  std::optional<std::size_t> heads;
  // The indices of those that the operator needs whole.
  std::vector<std::size_t> whole;
  // The index of the one that a grouped product has a matrix for each of.
  std::optional<std::size_t> groups;
  // Numbers, which are no sizes, say how many rows its result has.
  bool rows_by_numbers = false;
  // The index of the one that ids count: rows of a table.
  std::optional<std::size_t> counted;
  // The operator computes each element of a result from those at the same place, or is linear in
  // them: if ranks sum its results, they could have summed its inputs.
  bool keeps_sums = false;
  // False: how its tensors share dimensions is not known.
  bool known = true;
};

// Of work; transfers, too, as far as they keep a dimension. `call`: the node's, into which the
// result points. Empty of composites, waits, views and other metadata.
[[nodiscard]] SameDimensions SameDimensionsOf(const Node& node, const OpCall& call);

}  // namespace reprise
