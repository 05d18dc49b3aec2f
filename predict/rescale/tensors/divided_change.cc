// DividedTensors: sizes after.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "predict/rescale/tensors/changed_sizes.h"
#include "predict/rescale/tensors/divided_tensors.h"
#include "predict/rescale/tensors/each_tensor.h"
#include "predict/rescale/tensors/shard_nodes.h"

namespace reprise {
namespace {

constexpr std::array<std::string_view, 6> kComparesIds = {"aten::lt", "aten::ge",  "aten::gt",
                                                          "aten::le", "aten::sub", "aten::sub_"};

}  // namespace

// Ids of a vocabulary that ranks divide: the first one of each part.
bool DividedTensors::ChangeRows(Node& node) const {
  const std::string& name = OperatorOf(node);
  const auto* const ids = node.inputs.empty() ? nullptr : node.inputs[0].AsTensor();
  if (ids == nullptr || std::ranges::find(kComparesIds, name) == kComparesIds.end() ||
      (ids->dtype != DType::kInt64 && ids->dtype != DType::kInt32) || node.inputs.size() < 2) {
    return false;
  }
  auto* const bound = std::get_if<std::int64_t>(&node.inputs[1].data);
  for (const std::int64_t rows : rows_) {
    if (bound != nullptr && *bound > 0 && *bound % rows == 0) {
      *bound = *bound / rows * (rows * division_.from / division_.to);
      return true;
    }
  }
  return false;
}

Result<bool> DividedTensors::Change(Node& node) const {
  const ValueList inputs = node.inputs, outputs = node.outputs;
  bool changed = false;
  const TensorDesc* impossible = nullptr;
  for (ValueList* const values : {&node.inputs, &node.outputs}) {
    ChangeEachTensor(*values, [&](TensorDesc& tensor) {
      const auto storage = storages_.find(tensor.incarnation);
      if (tensor.shape.empty() || storage == storages_.end()) {
        return;
      }
      const TensorDesc before = tensor;
      if (!storage->second.Resize(tensor, division_)) {
        impossible = &tensor;
      }
      changed = changed || tensor != before;
    });
  }
  const auto resize_lists = [&](ValueList& values, const ValueList& before) {
    for (std::size_t i = 0; i < before.size(); ++i) {
      const ValueList* const list = before[i].AsList();
      if (list != nullptr && lists_.Contains(*list)) {
        lists_.Resize(*values[i].AsList(), *list);
        changed = true;
      }
    }
  };
  if (impossible == nullptr) {
    resize_lists(node.inputs, inputs);
    resize_lists(node.outputs, outputs);
  }
  if (impossible != nullptr) {
    return BadInput(
        fmt::format("node {} ({}): a tensor [{}] at element {} of a divided storage: "
                    "where it lies among {} ranks is not known",
                    node.id, OperatorOf(node), fmt::join(impossible->shape, ", "),
                    impossible->offset, division_.to));
  }
  if (changed) {
    ChangeSizesAmongArguments(node, inputs, outputs);
  } else if (!rows_.empty()) {
    changed = ChangeRows(node);
  }
  return changed;
}

}  // namespace reprise
