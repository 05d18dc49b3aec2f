// What shards are followed through: operators and their tensors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "et_schema/node.h"
#include "predict/rescale/tensors/each_tensor.h"

namespace reprise {

// FSDP2's packing of a shard, and of gradients for a reduce-scatter.
inline constexpr std::string_view kCopyIn = "fsdp::all_gather_copy_in";
inline constexpr std::string_view kChunkCat = "fsdp::chunk_cat";

// Of a device node the one that launched it.
[[nodiscard]] const std::string& OperatorOf(const Node& node);
// FSDP2's unpacking of what an all-gather brought.
[[nodiscard]] bool IsCopyOut(const Node& node);

// Tensors that an elementwise operator works on together: those at the same place of its lists, and
// those that are in none.
[[nodiscard]] std::vector<std::vector<const TensorDesc*>> TogetherIn(const ValueList& inputs,
                                                                     const ValueList& outputs);
[[nodiscard]] inline std::vector<std::vector<const TensorDesc*>> TogetherIn(const Node& node) {
  return TogetherIn(node.inputs, node.outputs);
}

// Bad input: the node combines a shard in a way that is not known.
[[nodiscard]] tl::unexpected<Error> IsNotKnown(const Node& node, const TensorDesc& shard);

}  // namespace reprise
