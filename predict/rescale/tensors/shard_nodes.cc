#include "predict/rescale/tensors/shard_nodes.h"

#include <fmt/format.h>

#include <algorithm>

namespace reprise {

const std::string& OperatorOf(const Node& node) { return node.op.empty() ? node.name : node.op; }

bool IsCopyOut(const Node& node) {
  return OperatorOf(node).find("split_with_sizes_copy") != std::string::npos;
}

std::vector<std::vector<const TensorDesc*>> TogetherIn(const ValueList& inputs,
                                                       const ValueList& outputs) {
  std::vector<std::vector<const TensorDesc*>> together(1);
  for (const ValueList* const values : {&inputs, &outputs}) {
    for (const Value& value : *values) {
      if (const TensorDesc* const tensor = value.AsTensor()) {
        together[0].push_back(tensor);
      } else if (const ValueList* const list = value.AsList()) {
        together.resize(std::max(together.size(), list->size() + 1));
        for (std::size_t i = 0; i < list->size(); ++i) {
          if (const TensorDesc* const one = (*list)[i].AsTensor()) {
            together[i + 1].push_back(one);
          }
        }
      }
    }
  }
  return together;
}

tl::unexpected<Error> IsNotKnown(const Node& node, const TensorDesc& shard) {
  return BadInput(fmt::format(
      "node {} ({}): it combines a tensor [{}] that data-parallel ranks divide, in a way that is "
      "not known of this operator; the set can't be rescaled in this axis",
      node.id, OperatorOf(node), fmt::join(shard.shape, ", ")));
}

}  // namespace reprise
