#include "predict/rescale/layer_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "predict/rescale/each_tensor.h"

namespace reprise {
namespace {

std::int64_t MemoryOf(const TensorDesc& tensor) {
  return tensor.storage_id == 0 ? -1 : tensor.storage_id;
}

void SetLength(TensorDesc& tensor, std::int64_t elements) {
  tensor.elements = elements;
  tensor.shape.back() = elements;
}

// All its elements are in one dimension.
bool IsFlat(const TensorDesc& tensor) {
  return !tensor.shape.empty() && tensor.shape.back() == tensor.elements;
}

}  // namespace

void MovedTensors::Add(const OpCall& call) {
  std::vector<std::int64_t> of_storages, of_tensors, of_memories;
  std::size_t inputs = 0;
  for (const ValueList* const values : {&call.inputs, &call.outputs}) {
    for (const TensorDesc* const tensor : TensorsIn(*values)) {
      of_storages.push_back(tensor->incarnation);
      of_tensors.push_back(tensor->tensor_id);
      of_memories.push_back(MemoryOf(*tensor));
    }
    inputs = values == &call.inputs ? of_storages.size() : inputs;
  }
  storages.Add(of_storages, inputs);
  tensors.Add(of_tensors, inputs);
  memories.Add(of_memories, inputs);
}

void MovedTensors::Make(const RepeatedPlace& copy) {
  for (MovedIds* const ids : {&storages, &tensors, &memories}) {
    ids->Make(copy);
  }
}

void MovedTensors::Move(const RepeatedPlace& one, TensorDesc& tensor) {
  if (!tensor.IsDefined()) {
    return;
  }
  tensor.incarnation = storages.Of(one, tensor.incarnation);
  tensor.tensor_id = tensors.Of(one, tensor.tensor_id);
  tensor.storage_id = tensor.storage_id == 0 ? 0 : memories.Of(one, tensor.storage_id);
}

LayerTensors::LayerTensors(const Graph& graph, const LayerPlaces& places, MovedTensors& moved)
    : graph_(graph), places_(places), moved_(moved) {}

LayerTensors::Named LayerTensors::NamedOf(const TensorDesc& tensor) {
  return {tensor.incarnation, tensor.offset, tensor.elements, tensor.dtype};
}

void LayerTensors::Add(const OpCall& call) {
  const auto place = static_cast<std::uint32_t>(named_.size());
  std::vector<Named>& named = named_.emplace_back();
  ListNode lists{.place = place};
  for (const ValueList* const values : {&call.inputs, &call.outputs}) {
    for (const TensorDesc* const tensor : TensorsIn(*values)) {
      named.push_back(NamedOf(*tensor));
    }
    AddLists(place, *values, lists);
  }
  if (!lists.lists.empty()) {
    lists_.emplace(place, std::move(lists));
  }
  AddFlat(place);
}

void LayerTensors::AddLists(std::uint32_t place, const ValueList& values, ListNode& lists) {
  if (places_.PartsOf(place)) {
    return;
  }
  for (const Value& value : values) {
    const ValueList* const list = value.AsList();
    if (list == nullptr || list->size() < 2) {
      continue;
    }
    std::vector<Named> tensors;
    for (const Value& element : *list) {
      const TensorDesc* const tensor = element.AsTensor();
      tensors.push_back(tensor == nullptr ? Named() : NamedOf(*tensor));
    }
    if (std::ranges::any_of(tensors, [](const Named& one) { return one.storage >= 0; })) {
      lists.lists.push_back(std::move(tensors));
    }
  }
}

void LayerTensors::AddFlat(std::uint32_t place) {
  const std::optional<std::uint32_t> before = places_.OnePartBefore(place);
  if (!before || !places_.PartsOf(place)) {
    return;
  }
  const std::vector<Named>& now = named_[place];
  const std::vector<Named>& then = named_[*before];
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
    for (const Named& one : {now[k], then[k]}) {
      of.low = std::min(of.low, one.offset);
      of.high = std::max(of.high, one.offset + one.elements);
    }
  }
}

// Most of a buffer's tensors are as far from those of the layer before.
Status LayerTensors::FindBuffers() {
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

std::optional<std::int64_t> LayerTensors::LayerOf(const Named& tensor) const {
  if (const auto known = layer_in_lists_.find(tensor.storage); known != layer_in_lists_.end()) {
    return known->second;
  }
  if (const auto found = buffers_.find({tensor.storage, tensor.dtype}); found != buffers_.end()) {
    const FlatBuffer& buffer = found->second;
    if (tensor.offset < buffer.low || tensor.offset >= buffer.high) {
      return std::nullopt;
    }
    const std::int64_t at = (tensor.offset - buffer.low) / std::abs(buffer.stride);
    return buffer.stride > 0 ? at : places_.count_before() - 1 - at;
  }
  const std::optional<std::uint32_t> place = moved_.storages.PlaceOf(tensor.storage);
  return place ? places_.LayerOf(*place) : std::nullopt;
}

std::vector<std::int64_t> LayerTensors::LayersOf(const ListNode& node, std::size_t length) const {
  std::vector<std::int64_t> layers(length, -1);
  for (const std::vector<Named>& list : node.lists) {
    for (std::size_t i = 0; i < list.size() && list.size() == length; ++i) {
      if (const auto layer = LayerOf(list[i]); layer && layers[i] < 0) {
        layers[i] = *layer;
      }
    }
  }
  return layers;
}

// What stands in lists beside a layer's tensors is of that layer, too. True: that is new.
bool LayerTensors::Spread(const ListNode& node) {
  bool is_new = false;
  for (const std::vector<Named>& list : node.lists) {
    const std::vector<std::int64_t> layers = LayersOf(node, list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      const bool shared =
          list[i].storage < 0 || std::ranges::count(list, list[i].storage, &Named::storage) > 1;
      if (layers[i] >= 0 && !shared && !LayerOf(list[i])) {
        is_new = layer_in_lists_.emplace(list[i].storage, layers[i]).second || is_new;
      }
    }
  }
  return is_new;
}

Status LayerTensors::FindStretches(ListNode& node) {
  const std::int64_t count = places_.count_before();
  for (const std::vector<Named>& list : node.lists) {
    const std::vector<std::int64_t> layers = LayersOf(node, list.size());
    std::set<std::int64_t> all(layers.begin(), layers.end());
    all.erase(-1);
    if (std::cmp_less(all.size(), count) || node.stretches.contains(list.size())) {
      continue;
    }
    std::vector<Stretch>& stretches = node.stretches[list.size()];
    for (std::size_t i = 0; i < layers.size();) {
      if (layers[i] < 0) {
        ++i;
        continue;
      }
      std::size_t block = 1;
      while (i + block < layers.size() && layers[i + block] == layers[i]) {
        ++block;
      }
      const Stretch stretch{i, block, layers[i] == 0};
      for (std::size_t k = 0; k < block * static_cast<std::size_t>(count); ++k) {
        const auto part = static_cast<std::int64_t>(k / block);
        const std::int64_t expected = stretch.from_first ? part : count - 1 - part;
        if (i + k >= layers.size() || layers[i + k] != expected) {
          const Graph::Index at = places_.order().nodes[node.place];
          return BadInput(
              fmt::format("node {} (\"{}\"): it names tensors of {} layers in a list, and not "
                          "layer by layer: where those of more layers belong is not known",
                          graph_.id(at), graph_.name(at), count));
        }
      }
      stretches.push_back(stretch);
      i += block * static_cast<std::size_t>(count);
    }
  }
  return {};
}

Status LayerTensors::End() {
  REPRISE_TRY(FindBuffers());
  for (bool more = true; more;) {
    more = false;
    for (const auto& [place, node] : lists_) {
      more = Spread(node) || more;
    }
  }
  for (auto& [place, node] : lists_) {
    REPRISE_TRY(FindStretches(node));
  }
  return {};
}

// `ids`: by recorded layer, what each has at this place.
std::int64_t LayerTensors::IdOfLayer(MovedIds& moved, const std::vector<std::int64_t>& ids,
                                     std::int64_t to) const {
  const auto of_parts = [&](std::int64_t from) -> std::optional<std::int64_t> {
    const std::int64_t id = ids[static_cast<std::size_t>(from)];
    const std::optional<std::uint32_t> place = moved.PlaceOf(id);
    if (!place || !places_.PartsOf(*place)) {
      return std::nullopt;
    }
    const std::int64_t layer = to + *places_.LayerOf(*place) - from;
    return layer >= 0 && layer < places_.count_after()
               ? std::optional(moved.NamedBy(places_.At(*place, layer), id))
               : std::nullopt;
  };
  const std::int64_t source = places_.SourceLayer(to);
  if (std::ranges::count(ids, ids.front()) == std::ssize(ids)) {
    return ids.front();  // there for all of them
  }
  if (const auto found = of_parts(source)) {
    return *found;
  }
  const std::int64_t id = ids[static_cast<std::size_t>(source)];
  if (!places_.IsNew(to) || id < 0) {
    return id;
  }
  for (std::int64_t from = 0; from < places_.count_before(); ++from) {
    if (const auto found = of_parts(from)) {
      return *found;
    }
  }
  return moved.PlaceOf(id) ? moved.Fresh(id, to) : id;
}

std::int64_t LayerTensors::OffsetOf(const FlatBuffer& buffer, std::int64_t offset,
                                    std::int64_t from, std::int64_t to) const {
  const std::int64_t grown = buffer.stride < 0 ? -buffer.stride * places_.more() : 0;
  return offset + buffer.stride * (to - from) + grown;
}

// Of the tensors that the recorded layers have at one place of a list, the one of a layer of the
// result.
TensorDesc LayerTensors::TensorOfLayer(const std::vector<const TensorDesc*>& layers,
                                       std::int64_t to) {
  const std::int64_t from = places_.SourceLayer(to);
  TensorDesc tensor = *layers[static_cast<std::size_t>(from)];
  if (!tensor.IsDefined()) {
    return tensor;
  }
  const auto all = [&layers](std::int64_t TensorDesc::*number) {
    std::vector<std::int64_t> numbers;
    for (const TensorDesc* const one : layers) {
      numbers.push_back(one->*number);
    }
    return numbers;
  };
  const auto buffer = buffers_.find({tensor.incarnation, tensor.dtype});
  if (buffer != buffers_.end()) {
    tensor.offset = OffsetOf(buffer->second, tensor.offset, from, to);
  } else {
    tensor.incarnation = IdOfLayer(moved_.storages, all(&TensorDesc::incarnation), to);
    tensor.storage_id =
        tensor.storage_id == 0 ? 0 : IdOfLayer(moved_.memories, all(&TensorDesc::storage_id), to);
  }
  tensor.tensor_id = IdOfLayer(moved_.tensors, all(&TensorDesc::tensor_id), to);
  return tensor;
}

// A storage whose tensors a list has one right after the other: it is as long as they are.
void LayerTensors::Pack(const ValueList& before, ValueList& after) const {
  std::unordered_map<std::int64_t, std::pair<std::int64_t, std::int64_t>> packed;  // first, end
  std::set<std::int64_t> loose;
  for (const Value& value : before) {
    if (const TensorDesc* const tensor = value.AsTensor(); tensor && tensor->IsDefined()) {
      const auto [at, is_new] =
          packed.try_emplace(tensor->incarnation, tensor->offset, tensor->offset);
      if (at->second.second != tensor->offset ||
          buffers_.contains({tensor->incarnation, tensor->dtype})) {
        loose.insert(tensor->incarnation);
      }
      at->second.second = tensor->offset + tensor->elements;
    }
  }
  std::unordered_map<std::int64_t, std::int64_t> next;
  for (Value& value : after) {
    TensorDesc* const tensor = value.AsTensor();
    const auto at = tensor == nullptr ? packed.end() : packed.find(tensor->incarnation);
    if (at != packed.end() && !loose.contains(tensor->incarnation)) {
      const auto [offset, is_new] = next.try_emplace(tensor->incarnation, at->second.first);
      tensor->offset = offset->second;
      offset->second += tensor->elements;
    }
  }
}

Status LayerTensors::ChangeList(const RepeatedPlace& one, const Node& node,
                                const std::vector<Stretch>& stretches, ValueList& list) {
  const std::int64_t before = places_.count_before(), after = places_.count_after();
  ValueList changed;
  auto stretch = stretches.begin();
  for (std::size_t i = 0; i < list.size();) {
    if (stretch == stretches.end() || i < stretch->begin) {
      changed.push_back(list[i++]);
      if (TensorDesc* const tensor = changed.back().AsTensor()) {
        REPRISE_TRY(MoveInBuffer(one, node, *tensor));
        moved_.Move(one, *tensor);
      }
      continue;
    }
    for (std::int64_t k = 0; k < after; ++k) {
      const std::int64_t to = stretch->from_first ? k : after - 1 - k;
      for (std::size_t b = 0; b < stretch->block; ++b) {
        const auto of_layer = [&](std::int64_t layer) -> const Value& {
          const std::int64_t part = stretch->from_first ? layer : before - 1 - layer;
          return list[stretch->begin + static_cast<std::size_t>(part) * stretch->block + b];
        };
        std::vector<const TensorDesc*> layers;
        for (std::int64_t layer = 0; layer < before && of_layer(layer).AsTensor(); ++layer) {
          layers.push_back(of_layer(layer).AsTensor());
        }
        if (std::cmp_equal(layers.size(), before)) {
          changed.push_back(Value{TensorOfLayer(layers, to)});
        } else {
          changed.push_back(of_layer(places_.SourceLayer(to)));
        }
      }
    }
    i += stretch->block * static_cast<std::size_t>(before);
    ++stretch;
  }
  Pack(list, changed);
  list = std::move(changed);
  return {};
}

Result<bool> LayerTensors::MoveInBuffer(const RepeatedPlace& one, const Node& node,
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
      OffsetOf(buffer, tensor.offset, from, after ? *after : places_.FromNearerEnd(from));
  return false;
}

std::pair<std::size_t, std::size_t> LayerTensors::SizesOf(
    const std::vector<Named>& list, const std::vector<Stretch>& stretches) const {
  std::int64_t before = 0, of_layer = 0;
  for (const Named& tensor : list) {
    before += tensor.elements;
  }
  for (const Stretch& stretch : stretches) {
    for (std::size_t b = 0; b < stretch.block; ++b) {
      of_layer += list[stretch.begin + b].elements;
    }
  }
  return {before, before + of_layer * places_.more()};
}

// One-dimensional tensors whose elements are one for each tensor of a list, and what is as long.
bool LayerTensors::Resize(const std::map<std::size_t, std::size_t>& lengths, Node& node) {
  std::map<std::int64_t, std::int64_t> resized(lengths.begin(), lengths.end());
  for (const TensorDesc* const tensor : TensorsIn(node.inputs)) {
    const auto size = sizes_.find(tensor->incarnation);
    if (size != sizes_.end() && tensor->shape == std::vector{size->second.first}) {
      resized.insert(size->second);
    }
  }
  bool changed = false;
  ChangeEachTensor(node.outputs, [&](const TensorDesc& tensor) {
    const auto size = tensor.shape.size() == 1 ? resized.find(tensor.shape[0]) : resized.end();
    if (size != resized.end()) {
      sizes_[tensor.incarnation] = *size;
    }
  });
  for (ValueList* const values : {&node.inputs, &node.outputs}) {
    ChangeEachTensor(*values, [&](TensorDesc& tensor) {
      const auto size = sizes_.find(tensor.incarnation);
      if (size != sizes_.end() && tensor.shape == std::vector{size->second.first}) {
        SetLength(tensor, size->second.second);
        changed = true;
      }
    });
  }
  return changed;
}

Result<bool> LayerTensors::ChangeValues(const RepeatedPlace& one, const ListNode* lists, Node& node,
                                        ValueList& values) {
  bool changed = false;
  Status status;
  const auto move = [&](TensorDesc& tensor) {
    const Result<bool> resized = MoveInBuffer(one, node, tensor);
    if (!resized) {
      status = tl::unexpected(resized.error());
      return;
    }
    changed = changed || *resized;
    moved_.Move(one, tensor);
  };
  for (Value& value : values) {
    if (TensorDesc* const tensor = value.AsTensor()) {
      move(*tensor);
    } else if (ValueList* const list = value.AsList()) {
      if (lists == nullptr || !lists->stretches.contains(list->size())) {
        ChangeEachTensor(*list, move);
        continue;
      }
      REPRISE_TRY(ChangeList(one, node, lists->stretches.at(list->size()), *list));
      changed = true;
    }
  }
  REPRISE_TRY(status);
  return changed;
}

Result<bool> LayerTensors::Change(const RepeatedPlace& one, Node& node) {
  const auto lists = lists_.find(one.place);
  const ListNode* const of_node = lists == lists_.end() ? nullptr : &lists->second;
  std::map<std::size_t, std::size_t> lengths;
  if (of_node != nullptr) {
    for (const auto& [length, stretches] : of_node->stretches) {
      std::size_t of_layer = 0;
      for (const Stretch& stretch : stretches) {
        of_layer += stretch.block;
      }
      lengths[length] = length + of_layer * static_cast<std::size_t>(places_.more());
    }
    for (const std::vector<Named>& list : of_node->lists) {
      if (const auto found = of_node->stretches.find(list.size());
          found != of_node->stretches.end()) {
        lengths.insert(SizesOf(list, found->second));
      }
    }
  }
  bool changed = places_.PartsOf(one.place) ? false : Resize(lengths, node);
  for (ValueList* const values : {&node.inputs, &node.outputs}) {
    REPRISE_ASSIGN(const bool of_values, ChangeValues(one, of_node, node, *values));
    changed = changed || of_values;
  }
  return changed;
}

}  // namespace reprise
