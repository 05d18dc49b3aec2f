#include "predict/rescale/layer_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "predict/rescale/tensors/each_tensor.h"

namespace reprise {
LayerTensors::LayerTensors(const Graph& graph, const LayerPlaces& places, MovedTensors& moved)
    : graph_(graph), places_(places), moved_(moved), buffers_(graph, places) {}

void LayerTensors::Add(const OpCall& call) {
  const std::uint32_t place = nodes_++;
  std::vector<NamedTensor> named;
  ListNode lists{.place = place};
  for (const ValueList* const values : {&call.inputs, &call.outputs}) {
    for (const TensorDesc* const tensor : TensorsIn(*values)) {
      named.push_back(NamedTensor::Of(*tensor));
    }
    AddLists(place, *values, lists);
  }
  if (!lists.lists.empty()) {
    lists_.emplace(place, std::move(lists));
  }
  buffers_.Add(std::move(named));
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
    std::vector<NamedTensor> tensors;
    for (const Value& element : *list) {
      const TensorDesc* const tensor = element.AsTensor();
      tensors.push_back(tensor == nullptr ? NamedTensor() : NamedTensor::Of(*tensor));
    }
    if (std::ranges::any_of(tensors, [](const NamedTensor& one) { return one.storage >= 0; })) {
      lists.lists.push_back(std::move(tensors));
    }
  }
}

std::optional<std::int64_t> LayerTensors::LayerOf(const NamedTensor& tensor) const {
  if (const auto known = layer_in_lists_.find(tensor.storage); known != layer_in_lists_.end()) {
    return known->second;
  }
  if (buffers_.Has(tensor.storage, tensor.dtype)) {
    return buffers_.LayerOf(tensor);
  }
  const std::optional<std::uint32_t> place = moved_.storages.PlaceOf(tensor.storage);
  return place ? places_.LayerOf(*place) : std::nullopt;
}

std::vector<std::int64_t> LayerTensors::LayersOf(const ListNode& node, std::size_t length) const {
  std::vector<std::int64_t> layers(length, -1);
  for (const std::vector<NamedTensor>& list : node.lists) {
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
  for (const std::vector<NamedTensor>& list : node.lists) {
    const std::vector<std::int64_t> layers = LayersOf(node, list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      const bool shared = list[i].storage < 0 ||
                          std::ranges::count(list, list[i].storage, &NamedTensor::storage) > 1;
      if (layers[i] >= 0 && !shared && !LayerOf(list[i])) {
        is_new = layer_in_lists_.emplace(list[i].storage, layers[i]).second || is_new;
      }
    }
  }
  return is_new;
}

Status LayerTensors::FindStretches(ListNode& node) {
  const std::int64_t count = places_.count_before();
  for (const std::vector<NamedTensor>& list : node.lists) {
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
  REPRISE_TRY(buffers_.End());
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
    numbers.reserve(layers.size());
    for (const TensorDesc* const one : layers) {
      numbers.push_back(one->*number);
    }
    return numbers;
  };
  if (buffers_.Has(tensor.incarnation, tensor.dtype)) {
    tensor.offset = buffers_.OffsetOf(tensor, from, to);
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
      if (at->second.second != tensor->offset || buffers_.Has(tensor->incarnation, tensor->dtype)) {
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
        REPRISE_TRY(buffers_.Move(one, node, *tensor));
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

std::pair<std::size_t, std::size_t> LayerTensors::SizesOf(
    const std::vector<NamedTensor>& list, const std::vector<Stretch>& stretches) const {
  std::int64_t before = 0, of_layer = 0;
  for (const NamedTensor& tensor : list) {
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
    const Result<bool> resized = buffers_.Move(one, node, tensor);
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
    for (const std::vector<NamedTensor>& list : of_node->lists) {
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
