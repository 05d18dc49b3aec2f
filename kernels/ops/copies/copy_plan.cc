#include "kernels/ops/copies/copy_plan.h"

#include <algorithm>
#include <unordered_map>

#include "kernels/views.h"

namespace reprise {
namespace {

using TensorList = std::vector<const TensorDesc*>;
using Planner = std::optional<CopyPlan> (*)(const OpCall&);

// The recorded output, else (out= variants that return nothing) input i.
const TensorDesc* OutputOr(const OpCall& call, std::size_t i) {
  const TensorDesc* output = call.OutputTensor(0);
  return output != nullptr ? output : call.InputTensor(i);
}

// -1 counts from the end, of `rank` dimensions.
std::optional<std::size_t> Dim(const OpCall& call, std::size_t i, std::size_t rank) {
  const auto dim =
      WrapDim(call.Argument(i).AsNumber<std::int64_t>(0), static_cast<std::int64_t>(rank));
  return dim && rank > 0 ? std::optional(static_cast<std::size_t>(*dim)) : std::nullopt;
}

// copy_(self, src, non_blocking), _copy_from(self, dst), fill_(self, value tensor)
std::optional<CopyPlan> PlanOne(const OpCall& call) {
  const bool reversed = call.name.starts_with("aten::_copy_from");
  const TensorDesc* dst = call.InputTensor(reversed ? 1 : 0);
  const TensorDesc* src = call.InputTensor(reversed ? 0 : 1);
  if (dst == nullptr || src == nullptr) {
    return std::nullopt;
  }
  return CopyPlan{.pieces = {{*dst, *src}}};
}

// cat(tensors, dim=0[, out])
std::optional<CopyPlan> PlanCat(const OpCall& call) {
  const TensorDesc* out = OutputOr(call, 2);
  const TensorList tensors = call.InputTensors(0);
  const auto dim = out == nullptr ? std::nullopt : Dim(call, 1, out->shape.size());
  if (!dim || tensors.empty()) {
    return std::nullopt;
  }
  CopyPlan plan;
  std::int64_t at = 0;
  for (const TensorDesc* tensor : tensors) {
    if (tensor->shape.size() == 1 && tensor->shape[0] == 0) {
      continue;  // an empty vector goes with everything
    }
    if (tensor->shape.size() != out->shape.size()) {
      return std::nullopt;
    }
    plan.pieces.push_back({NarrowedAt(*out, *dim, at, tensor->shape[*dim]), *tensor});
    at += tensor->shape[*dim];
  }
  return at == out->shape[*dim] ? std::optional(plan) : std::nullopt;
}

// stack(tensors, dim=0[, out])
std::optional<CopyPlan> PlanStack(const OpCall& call) {
  const TensorDesc* out = OutputOr(call, 2);
  const TensorList tensors = call.InputTensors(0);
  const auto dim = out == nullptr ? std::nullopt : Dim(call, 1, out->shape.size());
  if (!dim || static_cast<std::int64_t>(tensors.size()) != out->shape[*dim]) {
    return std::nullopt;
  }
  CopyPlan plan;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    TensorDesc slot = NarrowedAt(*out, *dim, static_cast<std::int64_t>(i), 1);
    slot.shape.erase(slot.shape.begin() + static_cast<std::ptrdiff_t>(*dim));
    slot.strides.erase(slot.strides.begin() + static_cast<std::ptrdiff_t>(*dim));
    plan.pieces.push_back({std::move(slot), *tensors[i]});
  }
  return plan;
}

// _foreach_copy_(self[], src[], non_blocking)
std::optional<CopyPlan> PlanForeach(const OpCall& call) {
  const TensorList dst = call.InputTensors(0);
  const TensorList src = call.InputTensors(1);
  if (dst.empty() || dst.size() != src.size()) {
    return std::nullopt;
  }
  CopyPlan plan;
  for (std::size_t i = 0; i < dst.size(); ++i) {
    plan.pieces.push_back({*dst[i], *src[i]});
  }
  return plan;
}

// split_with_sizes_copy(self, sizes, dim=0, *, out[]); without out=, the outputs.
std::optional<CopyPlan> PlanSplit(const OpCall& call) {
  const TensorDesc* self = call.InputTensor(0);
  const std::vector<std::int64_t> sizes = call.InputInts(1);
  TensorList outs = call.InputTensors(3);
  if (outs.empty()) {
    outs = TensorsIn(call.outputs);
  }
  const auto dim = self == nullptr ? std::nullopt : Dim(call, 2, self->shape.size());
  if (!dim || outs.empty() || outs.size() != sizes.size()) {
    return std::nullopt;
  }
  CopyPlan plan;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < outs.size(); ++i) {
    plan.pieces.push_back({*outs[i], NarrowedAt(*self, *dim, at, sizes[i])});
    at += sizes[i];
  }
  return at <= self->shape[*dim] ? std::optional(plan) : std::nullopt;
}

// _chunk_cat(tensors, dim, num_chunks, *, out): each tensor in num_chunks equal parts of its first
// dimension (the last padded with zeros); row c of the result is the c-th part of every tensor.
std::optional<CopyPlan> PlanChunkCat(const OpCall& call) {
  const TensorDesc* out = OutputOr(call, 3);
  const TensorList tensors = call.InputTensors(0);
  const auto dim = call.Argument(1).AsNumber<std::int64_t>(-1);
  const auto chunks = call.Argument(2).AsNumber<std::int64_t>(0);
  if (out == nullptr || dim != 0 || chunks < 1 || out->shape.size() < 2 ||
      out->shape[0] != chunks || !IsContiguous(*out)) {
    return std::nullopt;
  }
  const std::int64_t row = ElementCount(out->shape) / chunks;
  CopyPlan plan;
  std::int64_t column = 0;
  for (const TensorDesc* tensor : tensors) {
    if (tensor->shape.empty() || !IsContiguous(*tensor)) {
      return std::nullopt;
    }
    const std::int64_t count = ElementCount(tensor->shape);
    const std::int64_t rest = tensor->shape[0] == 0 ? 0 : count / tensor->shape[0];
    const std::int64_t part = (tensor->shape[0] + chunks - 1) / chunks * rest;
    const std::int64_t whole = part == 0 ? 0 : count / part;
    if (whole > 0) {
      plan.pieces.push_back({ViewOf(*out, {whole, part}, {row, 1}, out->offset + column),
                             ViewOf(*tensor, {whole, part}, {part, 1}, tensor->offset)});
    }
    if (const std::int64_t left = count - whole * part; left > 0) {
      plan.pieces.push_back({ViewOf(*out, {left}, {1}, out->offset + whole * row + column),
                             ViewOf(*tensor, {left}, {1}, tensor->offset + whole * part)});
    }
    if (whole < chunks) {
      plan.fill = *out;
      plan.fill_value = Value{std::int64_t{0}};
    }
    column += part;
  }
  return column == row ? std::optional(plan) : std::nullopt;
}

// all_gather_copy_in(inputs, output, split_sizes, numel, rank) → (rank's part of output, output)
std::optional<CopyPlan> PlanGatherCopyIn(const OpCall& call) {
  const TensorDesc* output = call.InputTensor(1);
  const TensorList inputs = call.InputTensors(0);
  if (output == nullptr || inputs.empty() || call.inputs.size() < 5) {
    return std::nullopt;
  }
  const auto numel = call.Argument(3).AsNumber<std::int64_t>(0);
  std::int64_t at = output->offset + numel * call.Argument(4).AsNumber<std::int64_t>(0);
  const std::int64_t end = at + numel;
  CopyPlan plan;
  for (const TensorDesc* input : inputs) {
    plan.pieces.push_back(
        {ViewOf(*output, input->shape, ContiguousStrides(input->shape), at), *input});
    at += ElementCount(input->shape);
  }
  const bool fits = at <= end && end <= output->offset + ElementCount(output->shape);
  return fits && IsContiguous(*output) ? std::optional(plan) : std::nullopt;
}

// repeat(self, repeats): each dimension of the result is (repeat, extent of self).
std::optional<CopyPlan> PlanRepeat(const OpCall& call) {
  const TensorDesc* self = call.InputTensor(0);
  const TensorDesc* out = OutputOr(call, 2);
  if (self == nullptr || out == nullptr || self->shape.size() > out->shape.size()) {
    return std::nullopt;
  }
  const std::size_t extra = out->shape.size() - self->shape.size();
  TensorDesc dst = ViewOf(*out, {}, {}, out->offset);
  TensorDesc src = ViewOf(*self, {}, {}, self->offset);
  for (std::size_t d = 0; d < out->shape.size(); ++d) {
    const std::int64_t extent = d < extra ? 1 : self->shape[d - extra];
    if (extent == 0 || out->shape[d] % extent != 0) {
      return std::nullopt;
    }
    dst.shape.insert(dst.shape.end(), {out->shape[d] / extent, extent});
    dst.strides.insert(dst.strides.end(), {out->strides[d] * extent, out->strides[d]});
    src.shape.insert(src.shape.end(), {1, extent});
    src.strides.insert(src.strides.end(), {0, d < extra ? 0 : self->strides[d - extra]});
  }
  return CopyPlan{.pieces = {{std::move(dst), std::move(src)}}};
}

// constant_pad_nd(self, pad, value=0): pad is (before, after) from the last dimension on.
std::optional<CopyPlan> PlanPad(const OpCall& call) {
  const TensorDesc* self = call.InputTensor(0);
  const TensorDesc* out = call.OutputTensor(0);
  const std::vector<std::int64_t> pad = call.InputInts(1);
  if (self == nullptr || out == nullptr || self->shape.size() != out->shape.size() ||
      pad.size() % 2 != 0 || pad.size() / 2 > self->shape.size()) {
    return std::nullopt;
  }
  TensorDesc dst = *out;
  TensorDesc src = *self;
  for (std::size_t i = 0; i < pad.size() / 2; ++i) {
    const std::size_t d = self->shape.size() - 1 - i;
    const std::int64_t before = pad[2 * i];
    const std::int64_t first = std::max<std::int64_t>(0, -before);  // negative pads cut off
    const std::int64_t length = self->shape[d] - first - std::max<std::int64_t>(0, -pad[2 * i + 1]);
    if (length < 0) {
      return std::nullopt;
    }
    src = NarrowedAt(src, d, first, length);
    dst = NarrowedAt(dst, d, std::max<std::int64_t>(0, before), length);
  }
  CopyPlan plan{.fill = *out, .pieces = {{std::move(dst), std::move(src)}}};
  plan.fill_value = call.Argument(2).IsNone() ? Value{std::int64_t{0}} : call.Argument(2);
  return plan;
}

const std::unordered_map<std::string_view, Planner>& Planners() {
  static const std::unordered_map<std::string_view, Planner> planners = {
      {"aten::copy_", PlanOne},
      {"aten::_copy_from", PlanOne},
      {"aten::_copy_from_and_resize", PlanOne},
      {"aten::fill_", PlanOne},
      {"aten::cat", PlanCat},
      {"aten::_cat", PlanCat},
      {"aten::stack", PlanStack},
      {"aten::_foreach_copy_", PlanForeach},
      {"aten::split_with_sizes_copy", PlanSplit},
      {"fsdp::split_with_sizes_copy", PlanSplit},
      {"aten::_chunk_cat", PlanChunkCat},
      {"fsdp::chunk_cat", PlanChunkCat},
      {"fsdp::chunk_cat_mixed_dtype", PlanChunkCat},
      {"fsdp::all_gather_copy_in", PlanGatherCopyIn},
      {"aten::repeat", PlanRepeat},
      {"aten::constant_pad_nd", PlanPad},
      {"aten::flip", PlanFlip},
      {"aten::roll", PlanRoll},
      {"aten::pixel_shuffle", PlanPixelShuffle},
      {"aten::pixel_unshuffle", PlanPixelShuffle},
      {"aten::channel_shuffle", PlanChannelShuffle},
      {"aten::native_channel_shuffle", PlanChannelShuffle},
  };
  return planners;
}

}  // namespace

std::optional<CopyPlan> PlanCopy(const OpCall& call) {
  const auto it = Planners().find(call.name);
  return it == Planners().end() ? std::nullopt : it->second(call);
}

}  // namespace reprise
