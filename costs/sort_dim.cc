#include "costs/sort_dim.h"

#include <algorithm>

namespace reprise {

std::size_t SortDimArgument(const OpCall& call) {
  const bool dim_first =
      call.inputs.size() > 1 && std::holds_alternative<std::int64_t>(call.inputs[1].data);
  return call.name != "aten::topk" && dim_first ? 1 : 2;
}

std::optional<std::size_t> SortDim(const OpCall& call) {
  const TensorDesc* self = call.InputTensor(0);
  if (self == nullptr) {
    return std::nullopt;
  }
  const auto rank = std::max<std::int64_t>(static_cast<std::int64_t>(self->shape.size()), 1);
  const std::size_t at = SortDimArgument(call);
  std::int64_t dim = at < call.inputs.size() ? call.inputs[at].AsNumber<std::int64_t>(-1) : -1;
  dim += dim < 0 ? rank : 0;
  return dim >= 0 && dim < rank ? std::optional(static_cast<std::size_t>(dim)) : std::nullopt;
}

}  // namespace reprise
