#include "predict/rescale/layer_buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace reprise {

bool IsFlat(const TensorDesc& tensor) {
  return !tensor.shape.empty() && tensor.shape.back() == tensor.elements;
}

void SetLength(TensorDesc& tensor, std::int64_t elements) {
  tensor.elements = elements;
  tensor.shape.back() = elements;
}

void LayerBuffers::Add(std::vector<NamedTensor> named) {
  const auto place = static_cast<std::uint32_t>(named_.size());
  named_.push_back(std::move(named));
  const std::optional<std::uint32_t> before = places_.OnePartBefore(place);
  if (!before || !places_.PartsOf(place)) {
    return;
  }
  const std::vector<NamedTensor>& now = named_[place];
  const std::vector<NamedTensor>& then = named_[*before];
  const std::int64_t apart = *places_.LayerOf(place) - *places_.LayerOf(*before);
  for (std::size_t k = 0; k < std::min(now.size(), then.size()); ++k) {
    if (now[k].storage < 0 || now[k].storage != then[k].storage || now[k].dtype != then[k].dtype ||
        now[k].offset == then[k].offset) {
      continue;
    }
    const std::int64_t stride = (now[k].offset - then[k].offset) * apart;
    const auto [at, is_new] = apart_[{now[k].storage, now[k].dtype}].try_emplace(
        stride, Apart{0, now[k].offset, now[k].offset, place, true});
    Apart& of = at->second;
    ++of.tensors;
    of.only_first = of.only_first && !places_.OnePartBefore(*before);
    for (const NamedTensor& one : {now[k], then[k]}) {
      of.low = std::min(of.low, one.offset);
      of.high = std::max(of.high, one.offset + one.elements);
    }
  }
}

// Most of a buffer's tensors are as far from those of the layer before.
Status LayerBuffers::End() {
  for (const auto& [key, strides] : apart_) {
    const auto most = std::ranges::max_element(
        strides, {}, [](const auto& stride) { return stride.second.tensors; });
    for (const auto& [stride, of] : strides) {
      if (stride != most->first && !of.only_first) {
        const Graph::Index at = places_.order().nodes[of.place];
        return BadInput(fmt::format(
            "node {} (\"{}\"): it names a buffer with tensors of several layers, which are not "
            "equally far apart: where those of more layers belong is not known",
            graph_.id(at), graph_.name(at)));
      }
    }
    buffers_[key] = {most->first, most->second.low, most->second.high};
  }
  return {};
}

std::optional<std::int64_t> LayerBuffers::LayerOf(const NamedTensor& tensor) const {
  const auto found = buffers_.find({tensor.storage, tensor.dtype});
  if (found == buffers_.end() || tensor.offset < found->second.low ||
      tensor.offset >= found->second.high) {
    return std::nullopt;
  }
  const FlatBuffer& buffer = found->second;
  const std::int64_t at = (tensor.offset - buffer.low) / std::abs(buffer.stride);
  return buffer.stride > 0 ? at : places_.count_before() - 1 - at;
}

std::int64_t LayerBuffers::OffsetOf(const TensorDesc& tensor, std::int64_t from,
                                    std::int64_t to) const {
  return OffsetIn(buffers_.at({tensor.incarnation, tensor.dtype}), tensor.offset, from, to);
}

std::int64_t LayerBuffers::OffsetIn(const FlatBuffer& buffer, std::int64_t offset,
                                    std::int64_t from, std::int64_t to) const {
  const std::int64_t grown = buffer.stride < 0 ? -buffer.stride * places_.more() : 0;
  return offset + buffer.stride * (to - from) + grown;
}

Result<bool> LayerBuffers::Move(const RepeatedPlace& one, const Node& node,
                                TensorDesc& tensor) const {
  const auto found = buffers_.find({tensor.incarnation, tensor.dtype});
  if (found == buffers_.end()) {
    return false;
  }
  const FlatBuffer& buffer = found->second;
  const std::int64_t apart = std::abs(buffer.stride), grown = apart * places_.more();
  const std::int64_t end = tensor.offset + tensor.elements;
  if (tensor.offset <= buffer.low && end >= buffer.high) {
    if (!IsFlat(tensor)) {
      return BadInput(
          fmt::format("node {} (\"{}\"): it takes a buffer with tensors of all layers "
                      "for one of {} dimensions",
                      node.id, node.name, tensor.shape.size()));
    }
    SetLength(tensor, tensor.elements + grown);
    return true;
  }
  if (end <= buffer.low) {
    return false;
  }
  if (tensor.offset >= buffer.high) {
    tensor.offset += grown;
    return false;
  }
  if (tensor.elements > apart) {
    return BadInput(
        fmt::format("node {} (\"{}\"): it takes a part of a buffer that has tensors of several "
                    "layers, but not of all: how large it is with more layers is not known",
                    node.id, node.name));
  }
  const std::optional<std::int64_t> after = places_.LayerAfter(one);
  const std::int64_t at = (tensor.offset - buffer.low) / apart;
  const std::int64_t from = after               ? *places_.LayerOf(one.place)
                            : buffer.stride > 0 ? at
                                                : places_.count_before() - 1 - at;
  tensor.offset =
      OffsetIn(buffer, tensor.offset, from, after ? *after : places_.FromNearerEnd(from));
  return false;
}

}  // namespace reprise
