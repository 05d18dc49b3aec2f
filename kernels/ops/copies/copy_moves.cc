// Elements in another order along their dimensions.
#include <algorithm>
#include <utility>

#include "kernels/ops/copies/copy_plan.h"
#include "kernels/views.h"

namespace reprise {
namespace {

// Every piece in two along `dim`: what moves on, and what comes back in at the front.
void Roll(CopyPlan& plan, std::size_t dim, std::int64_t extent, std::int64_t shift) {
  std::vector<CopyPlan::Piece> pieces;
  for (const CopyPlan::Piece& piece : plan.pieces) {
    pieces.push_back({NarrowedAt(piece.dst, dim, shift, extent - shift),
                      NarrowedAt(piece.src, dim, 0, extent - shift)});
    pieces.push_back(
        {NarrowedAt(piece.dst, dim, 0, shift), NarrowedAt(piece.src, dim, extent - shift, shift)});
  }
  plan.pieces = std::move(pieces);
}

}  // namespace

// flip(self, dims): self walked backwards along them.
std::optional<CopyPlan> PlanFlip(const OpCall& call) {
  const TensorDesc* self = call.InputTensor(0);
  const TensorDesc* out = call.OutputTensor(0);
  if (self == nullptr || out == nullptr || self->shape != out->shape) {
    return std::nullopt;
  }
  const auto rank = static_cast<std::int64_t>(self->shape.size());
  TensorDesc src = *self;
  for (const std::int64_t dim : call.InputInts(1)) {
    if (dim < -rank || dim >= rank) {
      return std::nullopt;
    }
    const auto d = static_cast<std::size_t>(dim < 0 ? dim + rank : dim);
    src.offset += (std::max<std::int64_t>(src.shape[d], 1) - 1) * src.strides[d];
    src.strides[d] = -src.strides[d];
  }
  return CopyPlan{.pieces = {{*out, std::move(src)}}};
}

// roll(self, shifts, dims=[]): without dims, the elements in a row.
std::optional<CopyPlan> PlanRoll(const OpCall& call) {
  const TensorDesc* self = call.InputTensor(0);
  const TensorDesc* out = call.OutputTensor(0);
  const std::vector<std::int64_t> shifts = call.InputInts(1);
  std::vector<std::int64_t> dims = call.InputInts(2);
  if (self == nullptr || out == nullptr || self->shape != out->shape) {
    return std::nullopt;
  }
  CopyPlan plan{.pieces = {{*out, *self}}};
  if (dims.empty()) {
    if (!IsContiguous(*self) || !IsContiguous(*out)) {
      return std::nullopt;
    }
    const std::vector<std::int64_t> row = {ElementCount(self->shape)};
    plan.pieces = {{ViewOf(*out, row, {1}, out->offset), ViewOf(*self, row, {1}, self->offset)}};
    dims = {0};
  }
  const std::vector<std::int64_t> shape = plan.pieces[0].dst.shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (dims.size() != shifts.size()) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto d = static_cast<std::size_t>(dims[i] < 0 ? dims[i] + rank : dims[i]);
    if (dims[i] < -rank || dims[i] >= rank) {
      return std::nullopt;
    }
    const std::int64_t extent = shape[d];
    if (const std::int64_t shift = extent == 0 ? 0 : (shifts[i] % extent + extent) % extent) {
      Roll(plan, d, extent, shift);
    }
  }
  return plan;
}

}  // namespace reprise
