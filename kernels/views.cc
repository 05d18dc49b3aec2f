#include "kernels/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "kernels/device_lowering.h"

namespace reprise {

Status CheckHolds(const TensorDesc& tensor, std::int64_t storage_bytes) {
  const std::int64_t end = (tensor.offset + ExtentElements(tensor)) * SizeOf(tensor.dtype);
  if (Count(tensor) > 0 && end > storage_bytes) {
    return UsageError(fmt::format("storage incarnation {} has {} bytes, a tensor in it needs {}",
                                  tensor.incarnation, storage_bytes, end));
  }
  return {};
}

std::optional<std::int64_t> WrapDim(std::int64_t dim, std::int64_t rank) {
  rank = std::max<std::int64_t>(rank, 1);
  if (dim < -rank || dim >= rank) {
    return std::nullopt;
  }
  return dim < 0 ? dim + rank : dim;
}

std::int64_t ExtentOf(const TensorDesc& tensor, std::int64_t dim) {
  return tensor.shape.empty() ? 1 : tensor.shape.at(static_cast<std::size_t>(dim));
}

AroundDim SplitAt(const TensorDesc& tensor, std::int64_t dim) {
  AroundDim around{.extent = ExtentOf(tensor, dim)};
  for (std::int64_t d = 0; d < Rank(tensor); ++d) {
    (d < dim ? around.outer : around.inner) *= d == dim ? 1 : ExtentOf(tensor, d);
  }
  return around;
}

TensorDesc Permuted(const TensorDesc& tensor, const Dims& order) {
  TensorDesc view = tensor;
  for (std::size_t i = 0; i < order.size(); ++i) {
    view.shape[i] = tensor.shape[static_cast<std::size_t>(order[i])];
    view.strides[i] = tensor.strides[static_cast<std::size_t>(order[i])];
  }
  return view;
}

TensorDesc WithLast(const TensorDesc& tensor, std::int64_t dim) {
  if (tensor.shape.empty()) {
    return AtLeast1D(tensor);
  }
  Dims order;
  for (std::int64_t d = 0; d < Rank(tensor); ++d) {
    if (d != dim) {
      order.push_back(d);
    }
  }
  order.push_back(dim);
  return Permuted(tensor, order);
}

std::optional<TensorDesc> Expanded(const TensorDesc& tensor, const Dims& shape) {
  if (tensor.shape.size() > shape.size()) {
    return std::nullopt;
  }
  const std::size_t lead = shape.size() - tensor.shape.size();
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    if (tensor.shape[d] != 1 && tensor.shape[d] != shape[lead + d]) {
      return std::nullopt;
    }
  }
  return ViewOf(tensor, shape, BroadcastStrides(tensor, shape), tensor.offset);
}

TensorDesc Narrowed(const TensorDesc& tensor, std::int64_t dim, std::int64_t extent) {
  return tensor.shape.empty() ? tensor
                              : NarrowedAt(tensor, static_cast<std::size_t>(dim), 0, extent);
}

TensorDesc AtLeast1D(const TensorDesc& tensor) {
  TensorDesc view = tensor;
  if (view.shape.empty()) {
    view.shape = {1};
    view.strides = {1};
  }
  return view;
}

Dims MemoryOrder(const TensorDesc& tensor) {
  Dims order(tensor.shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), [&](std::int64_t dim) {
    return std::abs(tensor.strides[static_cast<std::size_t>(dim)]);
  });
  return order;
}

std::optional<Dims> BroadcastShape(const std::vector<const TensorDesc*>& tensors) {
  Dims shape;
  for (const TensorDesc* tensor : tensors) {
    if (tensor->shape.size() > shape.size()) {
      shape.insert(shape.begin(), tensor->shape.size() - shape.size(), 1);
    }
    for (std::size_t i = 1; i <= tensor->shape.size(); ++i) {
      const std::int64_t extent = tensor->shape[tensor->shape.size() - i];
      std::int64_t& merged = shape[shape.size() - i];
      if (extent != 1 && merged != 1 && extent != merged) {
        return std::nullopt;
      }
      merged = merged == 1 ? extent : merged;
    }
  }
  return shape;
}

bool MaskAt(const Value& mask, std::size_t i) {
  const ValueList* list = mask.AsList();
  return list != nullptr && i < list->size() && TruthOr((*list)[i], false);
}

TensorDesc ViewOf(const TensorDesc& tensor, std::vector<std::int64_t> shape,
                  std::vector<std::int64_t> strides, std::int64_t offset) {
  TensorDesc view = tensor;
  view.elements = ElementCount(shape);
  view.shape = std::move(shape);
  view.strides = std::move(strides);
  view.offset = offset;
  return view;
}

TensorDesc NarrowedAt(const TensorDesc& tensor, std::size_t dim, std::int64_t start,
                      std::int64_t length) {
  std::vector<std::int64_t> shape = tensor.shape;
  shape[dim] = length;
  return ViewOf(tensor, std::move(shape), tensor.strides,
                tensor.offset + start * tensor.strides[dim]);
}

}  // namespace reprise
