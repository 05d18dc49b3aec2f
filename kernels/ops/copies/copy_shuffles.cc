// Channels that become pixels, or other channels: copies between two views of more dimensions.
#include <algorithm>
#include <utility>

#include "kernels/ops/copies/copy_plan.h"
#include "kernels/views.h"

namespace reprise {
namespace {

// The dimension `dim` as several, of these extents from the slowest on.
TensorDesc Split(const TensorDesc& tensor, std::size_t dim, const Dims& extents) {
  TensorDesc view = tensor;
  std::int64_t stride = tensor.strides[dim];
  const auto at = static_cast<std::ptrdiff_t>(dim);
  view.shape.erase(view.shape.begin() + at);
  view.strides.erase(view.strides.begin() + at);
  for (auto extent = extents.rbegin(); extent != extents.rend(); ++extent) {
    view.shape.insert(view.shape.begin() + at, *extent);
    view.strides.insert(view.strides.begin() + at, stride);
    stride *= *extent;
  }
  return view;
}

// Both as (…, channel, i, j, y, x): where blocks of r × r pixels are channels, and where they are
// pixels.
std::optional<std::pair<TensorDesc, TensorDesc>> Shuffled(const TensorDesc& channels,
                                                          const TensorDesc& pixels,
                                                          std::int64_t r) {
  const std::size_t rank = channels.shape.size();
  if (rank < 3 || pixels.shape.size() != rank || r < 1) {
    return std::nullopt;
  }
  Dims expected = channels.shape;
  expected[rank - 3] /= r * r;
  expected[rank - 2] *= r;
  expected[rank - 1] *= r;
  if (channels.shape[rank - 3] % (r * r) != 0 || pixels.shape != expected) {
    return std::nullopt;
  }
  const std::int64_t count = pixels.shape[rank - 3];
  const TensorDesc wide = Split(Split(pixels, rank - 1, {channels.shape[rank - 1], r}), rank - 2,
                                {channels.shape[rank - 2], r});  // (…, channel, y, i, x, j)
  Dims order;
  for (std::int64_t d = 0; d < Rank(wide); ++d) {
    order.push_back(d);
  }
  const auto first = static_cast<std::int64_t>(rank) - 2;
  const Dims block = {first + 1, first + 3, first, first + 2};  // i, j, y, x
  std::copy(block.begin(), block.end(), order.end() - 4);
  return std::pair(Split(channels, rank - 3, {count, r, r}), Permuted(wide, order));
}

}  // namespace

// pixel_shuffle(self, upscale_factor), pixel_unshuffle(self, downscale_factor)
std::optional<CopyPlan> PlanPixelShuffle(const OpCall& call) {
  const TensorDesc* self = call.InputTensor(0);
  const TensorDesc* out = call.OutputTensor(0);
  if (self == nullptr || out == nullptr) {
    return std::nullopt;
  }
  const bool back = call.name == "aten::pixel_unshuffle";
  const auto views = Shuffled(back ? *out : *self, back ? *self : *out,
                              call.Argument(1).AsNumber<std::int64_t>(0));
  if (!views) {
    return std::nullopt;
  }
  const auto& [channels, pixels] = *views;
  return CopyPlan{
      .pieces = {back ? CopyPlan::Piece{channels, pixels} : CopyPlan::Piece{pixels, channels}}};
}

// channel_shuffle(self, groups): channel (group, i) becomes (i, group).
std::optional<CopyPlan> PlanChannelShuffle(const OpCall& call) {
  const TensorDesc* self = call.InputTensor(0);
  const TensorDesc* out = call.OutputTensor(0);
  const auto groups = call.Argument(1).AsNumber<std::int64_t>(0);
  if (self == nullptr || out == nullptr || self->shape != out->shape || Rank(*self) < 2 ||
      groups < 1 || self->shape[1] % groups != 0) {
    return std::nullopt;
  }
  const std::int64_t each = self->shape[1] / groups;
  Dims order;
  for (std::int64_t d = 0; d <= Rank(*self); ++d) {
    order.push_back(d);
  }
  std::swap(order[1], order[2]);
  return CopyPlan{.pieces = {{Split(*out, 1, {each, groups}),
                              Permuted(Split(*self, 1, {groups, each}), order)}}};
}

}  // namespace reprise
