// ElementwiseCall on the host, by blocks of elements.
#include <algorithm>

#include "kernels/cpu/non_temporal_store.h"
#include "kernels/cpu/parallel_for.h"
#include "kernels/ops/common/host_convert.h"
#include "kernels/ops/elementwise/elementwise_call.h"
#include "kernels/tensor_access.h"

namespace reprise {
namespace {

constexpr int kBlock = 512;

template <typename C>
constexpr DType kNativeType = std::is_integral_v<C>       ? DType::kInt64
                              : std::is_same_v<C, double> ? DType::kFloat64
                                                          : DType::kFloat32;

// Where one operand's elements come from (or, for the result, go to).
template <typename C>
struct Side {
  std::byte* data = nullptr;
  DType dtype = DType::kUnknown;
  bool moves = false;  // a tensor of more than one element
  C uniform = 0;
};

template <typename C>
using Sides = std::array<Side<C>, 4>;  // result, a, b, c

// Walks rows of an index space: no division but for the first.
class Rows {
 public:
  Rows(const IndexSpace& space, std::int64_t element) : space_(space), at_(space.offset) {
    for (auto d = static_cast<std::size_t>(space.dims); d-- > 0;) {
      index_[d] = element % space.shape[d];
      element /= space.shape[d];
      Move(d, index_[d]);
    }
  }
  // The offset of operand k.
  [[nodiscard]] std::int64_t at(std::size_t k) const { return at_[k]; }
  // Elements left in this row.
  [[nodiscard]] std::int64_t left() const { return space_.shape[last()] - index_[last()]; }
  [[nodiscard]] std::size_t last() const { return static_cast<std::size_t>(space_.dims - 1); }
  // At most as many as are left in this row.
  void Advance(std::int64_t elements) {
    index_[last()] += elements;
    Move(last(), elements);
    for (std::size_t d = last(); d > 0 && index_[d] == space_.shape[d]; --d) {
      Move(d, -index_[d]);
      index_[d] = 0;
      ++index_[d - 1];
      Move(d - 1, 1);
    }
  }

 private:
  void Move(std::size_t d, std::int64_t steps) {
    for (std::size_t k = 0; k < at_.size(); ++k) {
      at_[k] += steps * space_.strides[k][d];
    }
  }

  const IndexSpace& space_;
  std::array<std::int64_t, IndexSpace::kMaxOperands> at_;
  std::array<std::int64_t, IndexSpace::kMaxDims> index_ = {};
};

// How much further on operand k is by the time that kAheadFloats more elements are computed: along
// its row, or in a later one where rows are shorter.
std::int64_t AheadOf(const IndexSpace& space, std::size_t k) {
  const auto last = static_cast<std::size_t>(space.dims - 1);
  const std::int64_t row = space.shape[last];
  if (last == 0 || row >= NonTemporalStore::kAheadFloats) {
    return NonTemporalStore::kAheadFloats;
  }
  return space.strides[k][last - 1] * ((NonTemporalStore::kAheadFloats + row - 1) / row);
}

// Whether the n elements at `a` and at `b` share some without being the same.
template <typename C>
bool Overlap(const C* a, const C* b, std::int64_t n) {
  return a != b && a < b + n && b < a + n;
}

template <typename C>
using Blocks = std::array<std::array<C, kBlock>, 4>;

// RunPart where there is nothing to find out for each block: operands and a result that are one
// dense row each, and nothing is stored non-temporally. False if that is not so.
template <typename C>
bool RunInPlace(const Sides<C>& sides, const IndexSpace& space, const NonTemporalStore& store,
                const Blocks<C>& blocks, ElementwiseOp::Block<C> compute, C d, std::int64_t begin,
                std::int64_t end) {
  const auto dense = [&](std::size_t k) {
    return sides[k].dtype == kNativeType<C> && space.strides[k][0] == 1;
  };
  if (space.dims != 1 || !dense(0)) {
    return false;
  }
  const auto element = [&](std::size_t k) {
    return reinterpret_cast<C*>(sides[k].data) + space.offset[k] + begin;
  };
  C* to = element(0);
  std::array<const C*, 4> from = {};
  std::array<std::int64_t, 4> step = {};
  bool is_operand = false;
  for (std::size_t k = 1; k < sides.size(); ++k) {
    from[k] = sides[k].moves ? element(k) : blocks[k].data();
    step[k] = sides[k].moves ? kBlock : 0;
    is_operand = is_operand || from[k] == to;
    if (sides[k].moves && (!dense(k) || Overlap<C>(from[k], to, end - begin))) {
      return false;
    }
  }
  if (store.non_temporal() && !is_operand) {
    return false;
  }
  for (std::int64_t i = begin; i < end; i += kBlock, to += kBlock) {
    const std::int64_t n = std::min<std::int64_t>(kBlock, end - i);
    compute(from[1], from[2], from[3], d, to, static_cast<int>(n));
    for (std::size_t k = 1; k < from.size(); ++k) {
      from[k] += step[k];
    }
  }
  return true;
}

// Elements [begin, end): gather blocks, compute, scatter; in place where operands and result are
// dense. A result that is an operand, too, is never stored non-temporally: its lines are in them.
template <typename C>
void RunPart(const Sides<C>& sides, const IndexSpace& space, ElementwiseOp::Block<C> compute, C d,
             std::int64_t begin, std::int64_t end) {
  const NonTemporalStore store(space.count * SizeOf(sides[0].dtype));
  Blocks<C> blocks;
  for (std::size_t k = 1; k < sides.size(); ++k) {
    std::fill_n(blocks[k].data(), std::min<std::int64_t>(kBlock, end - begin), sides[k].uniform);
  }
  if (RunInPlace(sides, space, store, blocks, compute, d, begin, end)) {
    return;
  }
  const std::int64_t block = store.non_temporal() ? NonTemporalStore::kBlock : kBlock;
  Rows rows(space, begin);
  const auto stride = [&](std::size_t k) { return space.strides[k][rows.last()]; };
  for (std::int64_t i = begin; i < end;) {
    const std::int64_t at = rows.at(0);
    const bool dense = sides[0].dtype == kNativeType<C> && stride(0) == 1;
    C* const to = dense ? reinterpret_cast<C*>(sides[0].data) + at : nullptr;
    const std::int64_t n = std::min({rows.left(), end - i, block});
    std::array<const C*, 4> from = {};
    std::array<const void*, 3> ahead = {};
    std::size_t fetched = 0;
    for (std::size_t k = 1; k < sides.size(); ++k) {
      const Side<C>& side = sides[k];
      from[k] = blocks[k].data();
      if (side.moves && side.dtype == kNativeType<C> && stride(k) == 1) {
        from[k] = reinterpret_cast<const C*>(side.data) + rows.at(k);
        ahead[fetched++] = from[k] + AheadOf(space, k);
      } else if (side.moves) {
        LoadRun(side.data, side.dtype, rows.at(k), stride(k), blocks[k].data(), n);
      }
    }
    const auto is_result = [&](const C* operand) { return operand == to; };
    const auto overlaps = [&](const C* operand) { return Overlap<C>(operand, to, n); };
    const bool in_place = dense && std::none_of(from.begin() + 1, from.end(), overlaps);
    const bool non_temporal =
        in_place && store.non_temporal() && std::none_of(from.begin() + 1, from.end(), is_result);
    const NonTemporalStore::Ahead fetch = NonTemporalStore::Ahead(ahead).first(fetched);
    rows.Advance(n);
    i += n;
    C* const out = in_place && !non_temporal ? to : blocks[0].data();
    compute(from[1], from[2], from[3], d, out, static_cast<int>(n));
    if (non_temporal) {
      store.Copy(to, out, n * SizeOf(sides[0].dtype), fetch);
    } else if (!in_place) {
      StoreRun(out, n, sides[0].data, sides[0].dtype, at, stride(0));
    }
  }
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
  Sides<C> sides;
  REPRISE_TRY(Bind(sides[0], *call.result, memory));
  double bytes = SizeOf(call.result->dtype);
  for (std::size_t k = 1; k < sides.size(); ++k) {
    const ElementwiseCall::Operand& operand = call.operands[k - 1];
    Side<C>& side = sides[k];
    side.uniform = operand.As<C>();
    if (operand.tensor != nullptr) {
      REPRISE_TRY(Bind(side, *operand.tensor, memory));
      side.moves = ElementCount(operand.tensor->shape) != 1;
      bytes += side.moves ? SizeOf(side.dtype) : 0;
      if (!side.moves) {
        LoadRun(side.data, side.dtype, operand.tensor->offset, 1, &side.uniform, 1);
      }
    }
  }
  const C d = call.operands[3].As<C>();
  // A transcendental function takes longer than the bytes.
  ParallelFor(
      space.count, GrainSize(bytes * std::max(1.0, call.op->flops)),
      [&](std::int64_t begin, std::int64_t end) { RunPart(sides, space, compute, d, begin, end); });
  return {};
}

Status RunAs(ComputeType type, const ElementwiseCall& call, const HostBindings& memory) {
  const std::optional<IndexSpace> space = SpaceOf(call);
  if (!space) {
    return UsageError("operands of an element-wise operator do not broadcast");
  }
  switch (type) {
    case ComputeType::kInteger:
      return Run<std::int64_t>(call, *space, call.op->run_integer, memory);
    case ComputeType::kDouble:
      return Run<double>(call, *space, call.op->run_double, memory);
    default:
      return Run<float>(call, *space, call.op->run_float, memory);
  }
}

}  // namespace

Status RunElementwise(const ElementwiseCall& call, const HostBindings& memory) {
  return RunAs(ComputeTypeOf(call), call, memory);
}

Status ReferenceElementwise(const ElementwiseCall& call, const HostBindings& memory) {
  const bool integers = ComputeTypeOf(call) == ComputeType::kInteger;
  return RunAs(integers ? ComputeType::kInteger : ComputeType::kDouble, call, memory);
}

}  // namespace reprise
