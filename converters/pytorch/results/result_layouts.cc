#include "converters/pytorch/results/result_layouts.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace reprise::pytorch {
namespace {

bool IsInteger(DType dtype) { return IsIntegral(dtype) && dtype != DType::kBool; }
bool IsNarrow(DType dtype) {
  return dtype == DType::kFloat8E4M3 || dtype == DType::kFloat8E5M2 || dtype == DType::kComplex64 ||
         dtype == DType::kComplex128;
}

// c10::promoteTypes; kUnknown is its Undefined. Nothing for types that it may not mix.
std::optional<DType> Promote(DType a, DType b) {
  if (a == b || b == DType::kUnknown) {
    return a;
  }
  if (a == DType::kUnknown) {
    return b;
  }
  if (IsNarrow(a) || IsNarrow(b)) {
    return std::nullopt;
  }
  if (IsFloating(a) && IsFloating(b)) {
    return SizeOf(a) == SizeOf(b) ? DType::kFloat32 : SizeOf(a) > SizeOf(b) ? a : b;
  }
  if (IsFloating(a) != IsFloating(b)) {
    return IsFloating(a) ? a : b;
  }
  if (!IsInteger(a) || !IsInteger(b)) {
    return IsInteger(a) ? a : b;
  }
  if (SizeOf(a) == SizeOf(b)) {
    return DType::kInt16;  // int8 with uint8
  }
  return SizeOf(a) > SizeOf(b) ? a : b;
}

// at::native::ResultTypeState: what has dimensions counts before what has none, and that before
// numbers, within a category (bool, integer, real).
struct TypeState {
  DType with_dims = DType::kUnknown, without = DType::kUnknown, number = DType::kUnknown;
  bool mixed = false;  // what may not be mixed

  void Add(DType& slot, DType dtype) {
    const auto promoted = Promote(slot, dtype);
    mixed |= !promoted;
    slot = promoted.value_or(slot);
  }
  std::optional<DType> Combine(DType higher, DType lower) const {
    if (IsFloating(higher) || IsNarrow(higher)) {
      return higher;
    }
    if (higher == DType::kBool || IsFloating(lower) || IsNarrow(lower)) {
      return Promote(higher, lower);
    }
    return higher != DType::kUnknown ? higher : lower;
  }
  std::optional<DType> Result() const {
    const auto lower = Combine(without, number);
    return lower && !mixed ? Combine(with_dims, *lower) : std::nullopt;
  }
};

// Numbers become 0-dimensional tensors of these types on their way through the dispatcher.
bool MayBeNumber(const TensorDesc& tensor) {
  return tensor.shape.empty() && (tensor.dtype == DType::kFloat64 ||
                                  tensor.dtype == DType::kInt64 || tensor.dtype == DType::kBool);
}

std::optional<DType> TypeIf(std::span<const Value* const> operands, DType default_type,
                            bool numbers_were_wrapped) {
  TypeState state;
  const auto add_number = [&](DType dtype) {
    state.Add(state.number, IsFloating(dtype) ? default_type : dtype);
  };
  for (const Value* value : operands) {
    if (const TensorDesc* tensor = value->AsTensor()) {
      if (numbers_were_wrapped && MayBeNumber(*tensor)) {
        add_number(tensor->dtype);
      } else {
        state.Add(tensor->shape.empty() ? state.without : state.with_dims, tensor->dtype);
      }
    } else if (std::holds_alternative<double>(value->data)) {
      add_number(DType::kFloat64);
    } else if (std::holds_alternative<std::int64_t>(value->data)) {
      add_number(DType::kInt64);
    } else if (std::holds_alternative<bool>(value->data)) {
      add_number(DType::kBool);
    }
  }
  return state.Result();
}

// As TensorIterator orders dimensions: fastest first, by the first operand that decides it.
std::vector<std::size_t> FastestFirst(std::span<const TensorDesc* const> operands,
                                      const Shape& shape) {
  const auto stride = [&](const TensorDesc& t, std::size_t dim) -> std::int64_t {
    const std::size_t missing = shape.size() - t.shape.size();
    return dim < missing || (t.shape[dim - missing] == 1 && shape[dim] != 1)
               ? 0
               : t.strides[dim - missing];
  };
  const auto compare = [&](std::size_t a, std::size_t b) {
    for (const TensorDesc* t : operands) {
      const std::int64_t stride_a = stride(*t, a);
      const std::int64_t stride_b = stride(*t, b);
      if (stride_a == 0 || stride_b == 0) {
        continue;  // broadcast
      }
      if (stride_a != stride_b) {
        return stride_a < stride_b ? -1 : 1;
      }
      if (shape[a] > shape[b]) {
        return 1;
      }
    }
    return 0;
  };
  std::vector<std::size_t> order(shape.size());
  std::iota(order.rbegin(), order.rend(), 0);
  // An insertion sort, since the comparison is no strict order.
  for (std::size_t i = 1; i < order.size(); ++i) {
    std::size_t moving = i;
    for (std::size_t at = i; at-- > 0;) {
      const int sign = compare(order[at], order[moving]);
      if (sign > 0) {
        std::swap(order[at], order[moving]);
        moving = at;
      } else if (sign < 0) {
        break;
      }
    }
  }
  return order;
}

Shape StridesInOrder(const Shape& shape, const std::vector<std::size_t>& fastest_first) {
  Shape strides(shape.size());
  std::int64_t stride = 1;
  for (const std::size_t dim : fastest_first) {
    strides[dim] = stride;
    stride *= shape[dim];
  }
  return strides;
}

bool IsChannelsLastDense(const TensorDesc& t) {
  constexpr std::array<std::size_t, 4> kFastestFirst = {1, 3, 2, 0};
  if (t.shape.size() != kFastestFirst.size()) {
    return false;
  }
  std::int64_t expected = 1;
  for (const std::size_t dim : kFastestFirst) {
    if (t.shape[dim] != 1 && t.strides[dim] != expected) {
      return false;
    }
    expected *= t.shape[dim];
  }
  return true;
}

TensorDesc New(const TensorDesc& like, DType dtype, Shape shape, Shape strides) {
  TensorDesc tensor;
  tensor.dtype = dtype;
  tensor.elements = ElementCount(shape);
  tensor.shape = std::move(shape);
  tensor.strides = std::move(strides);
  tensor.device = like.device;
  return tensor;
}

}  // namespace

std::optional<Shape> BroadcastShape(std::span<const TensorDesc* const> tensors) {
  Shape out;
  for (const TensorDesc* tensor : tensors) {
    const Shape& shape = tensor->shape;
    if (shape.size() > out.size()) {
      out.insert(out.begin(), shape.size() - out.size(), 1);
    }
    for (std::size_t i = 1; i <= shape.size(); ++i) {
      std::int64_t& extent = out[out.size() - i];
      const std::int64_t other = shape[shape.size() - i];
      if (extent != other && extent != 1 && other != 1) {
        return std::nullopt;
      }
      extent = extent == 1 ? other : extent;
    }
  }
  return out;
}

std::optional<DType> PromotedType(std::span<const Value* const> operands) {
  const auto type = TypeIf(operands, DType::kFloat32, false);
  for (const DType default_type : {DType::kFloat32, DType::kFloat64, DType::kBFloat16}) {
    for (const bool wrapped : {false, true}) {
      if (TypeIf(operands, default_type, wrapped) != type) {
        return std::nullopt;
      }
    }
  }
  return type == DType::kUnknown ? std::nullopt : type;
}

bool IsDense(const TensorDesc& tensor) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] != 1) {
      order.push_back(i);
    }
  }
  std::sort(order.begin(), order.end(),
            [&](auto a, auto b) { return tensor.strides[a] < tensor.strides[b]; });
  std::int64_t expected = 1;
  for (const std::size_t dim : order) {
    if (tensor.strides[dim] != expected) {
      return false;
    }
    expected *= tensor.shape[dim];
  }
  return true;
}

bool LooksChannelsLast(const TensorDesc& t) {
  if (t.shape.size() != 4 || t.strides[1] == 0) {
    return false;
  }
  std::int64_t least = 0;
  for (const std::size_t dim : {std::size_t{1}, std::size_t{3}, std::size_t{2}, std::size_t{0}}) {
    if (t.shape[dim] == 0 || t.strides[dim] < least ||
        (dim == 0 && least == t.strides[1])) {  // all but the channels have one element: contiguous
      return false;
    }
    least = t.strides[dim] * std::max<std::int64_t>(t.shape[dim], 1);
  }
  return true;
}

Shape ChannelsLastStrides(const Shape& shape) { return StridesInOrder(shape, {1, 3, 2, 0}); }

TensorDesc Contiguous(const TensorDesc& like, DType dtype, Shape shape) {
  Shape strides = ContiguousStrides(shape);
  return New(like, dtype, std::move(shape), std::move(strides));
}

TensorDesc Contiguous(const TensorDesc& like) { return Contiguous(like, like.dtype, like.shape); }

TensorDesc ChannelsLast(const TensorDesc& like, DType dtype, Shape shape) {
  Shape strides = ChannelsLastStrides(shape);
  return New(like, dtype, std::move(shape), std::move(strides));
}

TensorDesc Suggested(const TensorDesc& like, DType dtype, Shape shape) {
  return shape.size() == 4 && LooksChannelsLast(like) ? ChannelsLast(like, dtype, std::move(shape))
                                                      : Contiguous(like, dtype, std::move(shape));
}

TensorDesc Iterated(std::span<const TensorDesc* const> operands, DType dtype, const Shape& shape) {
  const auto with_dims = std::find_if(operands.begin(), operands.end(),
                                      [](const TensorDesc* t) { return !t->shape.empty(); });
  const TensorDesc& like = with_dims == operands.end() ? *operands.front() : **with_dims;
  const auto all = [&](auto holds) {
    return std::all_of(operands.begin(), operands.end(),
                       [&](const TensorDesc* t) { return t->shape == shape && holds(*t); });
  };
  if (ElementCount(shape) == 0 || all([](const TensorDesc& t) { return IsContiguous(t); })) {
    return Contiguous(like, dtype, shape);
  }
  if (all(IsChannelsLastDense)) {
    return ChannelsLast(like, dtype, shape);
  }
  if (all([&](const TensorDesc& t) { return IsDense(t) && t.strides == like.strides; })) {
    return New(like, dtype, shape, like.strides);
  }
  return New(like, dtype, shape, StridesInOrder(shape, FastestFirst(operands, shape)));
}

TensorDesc Like(const TensorDesc& tensor, DType dtype) {
  if (IsDense(tensor)) {
    return New(tensor, dtype, tensor.shape, tensor.strides);
  }
  const TensorDesc* const operands[] = {&tensor};
  return Iterated(operands, dtype, tensor.shape);
}

std::optional<std::size_t> Dimension(std::int64_t dim, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(std::max<std::size_t>(rank, 1));
  if (dim < -count || dim >= count) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(dim < 0 ? dim + count : dim);
}

std::optional<std::size_t> Dimension(std::optional<std::int64_t> dim, const TensorDesc* tensor) {
  return dim && tensor != nullptr ? Dimension(*dim, tensor->shape.size()) : std::nullopt;
}

bool Alike(const TensorDesc* a, const TensorDesc* b) {
  return a != nullptr && b != nullptr && a->dtype == b->dtype && a->shape == b->shape;
}

DType AccumulateType(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16 ? DType::kFloat32 : dtype;
}

}  // namespace reprise::pytorch
