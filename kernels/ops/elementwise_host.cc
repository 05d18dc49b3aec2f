// ElementwiseCall on the host: gather blocks, compute, scatter.
#include <algorithm>
#include <cstring>

#include "kernels/ops/elementwise_call.h"
#include "kernels/tensor_access.h"

namespace reprise {
namespace {

constexpr int kBlock = 256;

template <typename C>
constexpr DType NativeType() {
  if constexpr (std::is_same_v<C, float>) {
    return DType::kFloat32;
  } else if constexpr (std::is_same_v<C, double>) {
    return DType::kFloat64;
  } else {
    return DType::kInt64;
  }
}

template <typename C>
C LoadAs(const std::byte* data, DType dtype, std::int64_t at) {
  if constexpr (std::is_integral_v<C>) {
    return LoadInt(data, dtype, at);
  } else {
    return static_cast<C>(LoadDouble(data, dtype, at));
  }
}

// Where one operand's elements come from (or, for the result, go to).
template <typename C>
struct Side {
  std::byte* data = nullptr;
  DType dtype = DType::kUnknown;
  bool moves = false;  // a tensor of more than one element
  C uniform = 0;
  std::array<C, kBlock> block;

  // The block's elements, in place where memory already holds them in a row.
  const C* Gather(std::int64_t at, std::int64_t stride, int n) {
    if (!moves) {
      return block.data();
    }
    if (dtype == NativeType<C>()) {
      const C* from = reinterpret_cast<const C*>(data) + at;
      if (stride == 1) {
        return from;
      }
      for (int k = 0; k < n; ++k) {
        block[static_cast<std::size_t>(k)] = from[k * stride];
      }
    } else {
      for (int k = 0; k < n; ++k) {
        block[static_cast<std::size_t>(k)] = LoadAs<C>(data, dtype, at + k * stride);
      }
    }
    return block.data();
  }
  void Scatter(std::int64_t at, std::int64_t stride, int n) {
    if (dtype == NativeType<C>() && stride == 1) {
      std::memcpy(reinterpret_cast<C*>(data) + at, block.data(),
                  static_cast<std::size_t>(n) * sizeof(C));
      return;
    }
    for (int k = 0; k < n; ++k) {
      const C value = block[static_cast<std::size_t>(k)];
      if (dtype == NativeType<C>()) {
        reinterpret_cast<C*>(data)[at + k * stride] = value;
      } else if constexpr (std::is_integral_v<C>) {
        StoreInt(data, dtype, at + k * stride, value);
      } else {
        StoreDouble(data, dtype, at + k * stride, static_cast<double>(value));
      }
    }
  }
};

std::int64_t OffsetAt(const IndexSpace& space, std::size_t k, std::int64_t i) {
  std::int64_t at = space.offset[k];
  for (auto d = static_cast<std::size_t>(space.dims); d-- > 0;) {
    at += i % space.shape[d] * space.strides[k][d];
    i /= space.shape[d];
  }
  return at;
}

template <typename C>
Status Bind(Side<C>& side, const TensorDesc& tensor, const HostBindings& memory) {
  REPRISE_ASSIGN(const HostTensor bound, HostTensor::Bind(tensor, memory));
  side.data = bound.data();
  side.dtype = tensor.dtype;
  return {};
}

template <typename C>
Status Run(const ElementwiseCall& call, const IndexSpace& space, ElementwiseOp::Block<C> compute,
           const HostBindings& memory) {
  if (space.count == 0) {
    return {};
  }
  std::array<Side<C>, 4> sides;  // result, a, b, c
  REPRISE_TRY(Bind(sides[0], *call.result, memory));
  for (std::size_t k = 1; k < sides.size(); ++k) {
    const ElementwiseCall::Operand& operand = call.operands[k - 1];
    Side<C>& side = sides[k];
    side.uniform =
        std::is_integral_v<C> ? static_cast<C>(operand.integer) : static_cast<C>(operand.real);
    if (operand.tensor != nullptr) {
      REPRISE_TRY(Bind(side, *operand.tensor, memory));
      side.moves = ElementCount(operand.tensor->shape) != 1;
      if (!side.moves) {
        side.uniform = LoadAs<C>(side.data, side.dtype, operand.tensor->offset);
      }
    }
    side.block.fill(side.uniform);
  }
  const C d = std::is_integral_v<C> ? static_cast<C>(call.operands[3].integer)
                                    : static_cast<C>(call.operands[3].real);
  const auto inner = static_cast<std::size_t>(space.dims - 1);
  for (std::int64_t i = 0; i < space.count;) {
    const std::int64_t left = space.shape[inner] - i % space.shape[inner];
    const int n = static_cast<int>(std::min<std::int64_t>(left, kBlock));
    std::array<const C*, 4> from = {};
    for (std::size_t k = 1; k < sides.size(); ++k) {
      from[k] = sides[k].Gather(OffsetAt(space, k, i), space.strides[k][inner], n);
    }
    // In place through the block: the result may be one of the operands.
    compute(from[1], from[2], from[3], d, sides[0].block.data(), n);
    sides[0].Scatter(OffsetAt(space, 0, i), space.strides[0][inner], n);
    i += n;
  }
  return {};
}

}  // namespace

Status RunElementwise(const ElementwiseCall& call, const HostBindings& memory, bool exact) {
  const std::optional<IndexSpace> space = SpaceOf(call);
  if (!space) {
    return UsageError("operands of an element-wise operator do not broadcast");
  }
  const ComputeType type = ComputeTypeOf(call);
  if (type == ComputeType::kInteger) {
    return Run<std::int64_t>(call, *space, call.op->run_integer, memory);
  }
  if (type == ComputeType::kDouble || exact) {
    return Run<double>(call, *space, call.op->run_double, memory);
  }
  return Run<float>(call, *space, call.op->run_float, memory);
}

}  // namespace reprise
