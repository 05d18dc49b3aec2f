// Which integer inputs are indices, and into what: replayed indices are drawn below these bounds.
#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "kernels/kernel.h"

namespace reprise {
namespace {

using Bounds = std::unordered_map<std::int64_t, std::int64_t>;

void Bound(Bounds& bounds, const TensorDesc* index, std::int64_t limit) {
  if (index == nullptr || !IsIntegral(index->dtype) || index->dtype == DType::kBool || limit < 1) {
    return;
  }
  const auto [it, inserted] = bounds.emplace(index->incarnation, limit);
  if (!inserted) {
    it->second = std::min(it->second, limit);  // used twice: valid for both
  }
}

std::int64_t Extent(const TensorDesc* tensor, std::int64_t dim) {
  if (tensor == nullptr) {
    return 0;
  }
  const auto rank = static_cast<std::int64_t>(tensor->shape.size());
  if (dim < 0) {
    dim += rank;
  }
  return dim >= 0 && dim < rank ? tensor->shape[static_cast<std::size_t>(dim)] : 0;
}

// Operators whose input `index` selects along a fixed dimension of the tensor input `source`.
struct FixedRule {
  std::string_view name;
  std::size_t source, index;
  std::int64_t dim;
};
constexpr std::array kFixedRules = {
    FixedRule{"aten::embedding", 0, 1, 0},
    FixedRule{"aten::_embedding_bag", 0, 1, 0},
    FixedRule{"aten::_embedding_bag_forward_only", 0, 1, 0},
    // Bags that are read: every index of which bag, and every maximum of which row.
    FixedRule{"aten::_embedding_bag_dense_backward", 0, 2, 0},
    FixedRule{"aten::nll_loss_forward", 0, 1, -1},
    FixedRule{"aten::nll_loss_backward", 1, 2, -1},
    FixedRule{"aten::nll_loss2d_forward", 0, 1, 1},
    FixedRule{"aten::nll_loss2d_backward", 1, 2, 1},
};

// (self, dim, index, …): the dimension is an argument.
constexpr std::array<std::string_view, 13> kDimRules = {
    "aten::gather",         "aten::scatter",      "aten::scatter_",   "aten::scatter_add",
    "aten::scatter_add_",   "aten::index_select", "aten::index_add",  "aten::index_add_",
    "aten::index_copy",     "aten::index_copy_",  "aten::index_fill", "aten::index_fill_",
    "aten::scatter_reduce_"};

// (self, [index or none per dimension], …).
constexpr std::array<std::string_view, 6> kListRules = {
    "aten::index",         "aten::index_put",        "aten::index_put_", "aten::_index_put_impl_",
    "aten::_unsafe_index", "aten::_unsafe_index_put"};

void BoundList(const OpCall& call, Bounds& bounds) {
  const ValueList* list = call.inputs.size() > 1 ? call.inputs[1].AsList() : nullptr;
  if (list == nullptr) {
    return;
  }
  for (std::size_t d = 0; d < list->size(); ++d) {
    const TensorDesc* index = (*list)[d].AsTensor();
    if (index != nullptr && index->IsDefined()) {
      Bound(bounds, index, Extent(call.InputTensor(0), static_cast<std::int64_t>(d)));
    }
  }
}

}  // namespace

Bounds IndexBounds(const OpCall& call) {
  Bounds bounds;
  for (const FixedRule& rule : kFixedRules) {
    if (rule.name == call.name) {
      Bound(bounds, call.InputTensor(rule.index), Extent(call.InputTensor(rule.source), rule.dim));
    }
  }
  if (std::find(kDimRules.begin(), kDimRules.end(), call.name) != kDimRules.end()) {
    const std::int64_t dim = call.inputs.size() > 1 ? call.inputs[1].AsNumber<std::int64_t>(0) : 0;
    Bound(bounds, call.InputTensor(2), Extent(call.InputTensor(0), dim));
  }
  if (std::find(kListRules.begin(), kListRules.end(), call.name) != kListRules.end()) {
    BoundList(call, bounds);
  }
  if (call.name == "aten::take" && call.InputTensor(0) != nullptr) {
    Bound(bounds, call.InputTensor(1), ElementCount(call.InputTensor(0)->shape));
  }
  // _embedding_bag_dense_backward(grad, indices, …, maximum_indices, num_weights, …)
  if (call.name == "aten::_embedding_bag_dense_backward" && call.inputs.size() > 5) {
    const auto rows = call.inputs[5].AsNumber<std::int64_t>(0);
    Bound(bounds, call.InputTensor(1), rows);
    Bound(bounds, call.InputTensor(4), rows);
  }
  // embedding_dense_backward(grad, indices, num_weights, …)
  if (call.name == "aten::embedding_dense_backward" && call.inputs.size() > 2) {
    Bound(bounds, call.InputTensor(1), call.inputs[2].AsNumber<std::int64_t>(0));
  }
  // bincount(self, weights, minlength): the output's length is data; stay inside the recorded one.
  if (call.name == "aten::bincount") {
    Bound(bounds, call.InputTensor(0), Extent(call.OutputTensor(0), 0));
  }
  return bounds;
}

}  // namespace reprise
