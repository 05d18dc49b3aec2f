#include "predict/rescale/tensors/viewed_dimensions.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <utility>

#include "predict/rescale/tensors/each_tensor.h"
#include "predict/rescale/tensors/shard_nodes.h"

namespace reprise {
namespace {

using Sizes = std::vector<std::int64_t>;
// By dimension of the view: that of the tensor; -1: of none.
using Origins = std::vector<std::int64_t>;

constexpr std::array<std::string_view, 6> kInAnotherShape = {
    "aten::view",      "aten::_unsafe_view", "aten::reshape",
    "aten::unflatten", "aten::flatten",      "aten::_reshape_alias"};
constexpr std::array<std::string_view, 13> kKeepDimensions = {"aten::slice",
                                                              "aten::narrow",
                                                              "aten::split",
                                                              "aten::split_with_sizes",
                                                              "aten::chunk",
                                                              "aten::unsafe_chunk",
                                                              "aten::expand",
                                                              "aten::unsafe_split",
                                                              "aten::alias",
                                                              "aten::tensor_split",
                                                              "aten::detach",
                                                              "aten::view_as",
                                                              "aten::unsafe_split_with_sizes"};

bool IsAmong(const auto& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

Origins InOrder(std::size_t dims) {
  Origins origins(dims);
  std::iota(origins.begin(), origins.end(), 0);
  return origins;
}

Origins OfShape(const Sizes& from, const Sizes& to) {
  Origins origins(to.size(), -1);
  std::size_t first = 0;
  while (first < std::min(from.size(), to.size()) && from[first] == to[first]) {
    origins[first] = static_cast<std::int64_t>(first);
    ++first;
  }
  for (std::size_t last = 1; last + first <= std::min(from.size(), to.size()); ++last) {
    if (from[from.size() - last] != to[to.size() - last]) {
      break;
    }
    origins[to.size() - last] = static_cast<std::int64_t>(from.size() - last);
  }
  return origins;
}

std::int64_t DimensionAt(const Node& node, std::size_t argument, std::size_t dims) {
  const std::int64_t given =
      argument < node.inputs.size() ? node.inputs[argument].AsNumber<std::int64_t>(0) : 0;
  return given < 0 ? given + static_cast<std::int64_t>(dims) : given;
}

Origins Swapped(const Node& node, std::size_t dims) {
  Origins origins = InOrder(dims);
  const std::int64_t first = DimensionAt(node, 1, dims), second = DimensionAt(node, 2, dims);
  const auto count = static_cast<std::int64_t>(dims);
  if (first < 0 || second < 0 || first >= count || second >= count) {
    return {};
  }
  std::swap(origins[static_cast<std::size_t>(first)], origins[static_cast<std::size_t>(second)]);
  return origins;
}

Origins Permuted(const OpCall& call, std::size_t dims) {
  Origins origins = call.InputInts(1);
  for (std::int64_t& origin : origins) {
    origin = origin < 0 ? origin + static_cast<std::int64_t>(dims) : origin;
  }
  return origins;
}

// With one dimension more or fewer than the tensor.
Origins WithoutOne(const Node& node, std::size_t dims, bool more) {
  const std::int64_t at = DimensionAt(node, 1, more ? dims + 1 : dims);
  Origins origins = InOrder(more ? dims + 1 : dims);
  if (at < 0 || at >= static_cast<std::int64_t>(origins.size())) {
    return {};
  }
  if (!more) {
    origins.erase(origins.begin() + at);
    return origins;
  }
  for (std::size_t dim = static_cast<std::size_t>(at); dim < origins.size(); ++dim) {
    origins[dim] -= 1;
  }
  origins[static_cast<std::size_t>(at)] = -1;
  return origins;
}

// Those that are left, by size and stride.
Origins Squeezed(const Node& node, const TensorDesc& of, const TensorDesc& view) {
  const std::size_t dims = of.shape.size();
  const std::int64_t left_out = DimensionAt(node, 1, dims);
  std::vector<bool> used(dims);
  Origins origins(view.shape.size(), -1);
  for (std::size_t dim = 0; dim < origins.size(); ++dim) {
    for (std::size_t from = 0; from < dims && origins[dim] < 0; ++from) {
      if (!used[from] && static_cast<std::int64_t>(from) != left_out &&
          of.shape[from] == view.shape[dim] && of.strides[from] == view.strides[dim]) {
        used[from] = true;
        origins[dim] = static_cast<std::int64_t>(from);
      }
    }
  }
  return origins;
}

Origins OriginsOf(const Node& node, const OpCall& call, const TensorDesc& of,
                  const TensorDesc& view) {
  const std::string_view name = call.name;
  const std::size_t dims = of.shape.size();
  if (IsAmong(kInAnotherShape, name)) {
    return OfShape(of.shape, view.shape);
  }
  if (IsAmong(kKeepDimensions, name)) {
    return InOrder(dims);
  }
  if (name == "aten::transpose" || name == "aten::swapaxes") {
    return Swapped(node, dims);
  }
  if (name == "aten::t") {
    return dims == 2 ? Origins{1, 0} : InOrder(dims);
  }
  if (name == "aten::permute") {
    return Permuted(call, dims);
  }
  if (name == "aten::unsqueeze") {
    return WithoutOne(node, dims, true);
  }
  if (name == "aten::squeeze") {
    return dims == view.shape.size() + 1 ? Squeezed(node, of, view) : Origins();
  }
  if (name == "aten::select" || name == "aten::unbind") {
    return WithoutOne(node, dims, false);
  }
  return {};
}

}  // namespace

std::vector<ViewedDimension> ViewedDimensionsOf(const Node& node) {
  std::vector<ViewedDimension> all;
  const OpCall call{OperatorOf(node), node.inputs, node.outputs};
  const TensorDesc* const of = node.inputs.empty() ? nullptr : node.inputs[0].AsTensor();
  if (of == nullptr || !of->IsDefined()) {
    return all;
  }
  ForEachTensor(node.outputs, [&](const TensorDesc& view) {
    if (view.incarnation != of->incarnation) {
      return;
    }
    const Origins origins = OriginsOf(node, call, *of, view);
    if (origins.size() != view.shape.size()) {
      return;
    }
    for (std::size_t dim = 0; dim < origins.size(); ++dim) {
      const std::int64_t origin = origins[dim];
      if (origin >= 0 && origin < static_cast<std::int64_t>(of->shape.size())) {
        all.push_back({of, &view, static_cast<std::size_t>(origin), dim});
      }
    }
  });
  return all;
}

}  // namespace reprise
