#include "predict/rescale/tensors/rank_lists.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "predict/rescale/tensors/each_tensor.h"
#include "predict/rescale/tensors/shard_nodes.h"

namespace reprise {
namespace {

constexpr std::array<std::string_view, 5> kCuts = {
    "aten::chunk", "aten::split", "aten::tensor_split", "aten::unsafe_chunk", "aten::unsafe_split"};

}  // namespace

std::optional<RankList> RankLists::ListIn(const Value& value) const {
  const ValueList* const list = value.AsList();
  if (list == nullptr || list->size() < 2 ||
      list->size() != static_cast<std::size_t>(division_.from)) {
    return std::nullopt;
  }
  RankList found;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const TensorDesc* const tensor = (*list)[i].AsTensor();
    if (tensor == nullptr || !tensor->IsDefined() || tensor->shape.empty()) {
      return std::nullopt;
    }
    if (i == 0) {
      found.first = *tensor;
    } else if (i == 1) {
      found.distance = tensor->offset - found.first.offset;
    }
    const bool alike =
        tensor->incarnation == found.first.incarnation && tensor->shape == found.first.shape &&
        tensor->strides == found.first.strides &&
        tensor->offset == found.first.offset + static_cast<std::int64_t>(i) * found.distance;
    if (!alike) {
      return std::nullopt;
    }
  }
  return found.distance > 0 ? std::optional(std::move(found)) : std::nullopt;
}

void RankLists::Count(const ValueList& values) {
  ForEachTensor(values, [this](const TensorDesc& tensor) {
    ++uses_[tensor.incarnation][{tensor.offset, tensor.elements}];
    largest_id_ = std::max(largest_id_, tensor.tensor_id);
  });
}

void RankLists::Collect(const Node& node) {
  Count(node.inputs);
  const std::string& name = OperatorOf(node);
  if (std::ranges::find(kCuts, name) != kCuts.end() && !node.outputs.empty()) {
    if (auto list = ListIn(node.outputs[0])) {
      cut_.push_back(*std::move(list));
    }
    return;
  }
  Count(node.outputs);
  if (name != "aten::cat" || node.inputs.empty() || node.outputs.empty()) {
    return;
  }
  const TensorDesc* const result = node.outputs[0].AsTensor();
  auto list = ListIn(node.inputs[0]);
  if (list && result != nullptr) {
    const auto dim =
        node.inputs.size() > 1 ? node.inputs[1].AsNumber<std::int64_t>(0) : std::int64_t{0};
    const auto rank = static_cast<std::int64_t>(result->shape.size());
    list->joined_along = static_cast<std::size_t>(dim < 0 ? dim + rank : dim);
    list->result = *result;
    joined_.push_back(*std::move(list));
  }
}

bool RankLists::IsOwn(const RankList& list) const {
  const auto uses = uses_.find(list.first.incarnation);
  int used = 0;
  for (std::int64_t i = 0; i < division_.from && uses != uses_.end(); ++i) {
    const std::int64_t offset = list.first.offset + i * list.distance;
    used += std::ranges::any_of(uses->second, [&](const auto& use) {
      return use.first.first == offset && use.first.second <= list.first.elements;
    });
  }
  return used == 1;
}

void RankLists::Choose(const std::vector<WholeBuffer>& wholes) {
  std::set<Key> keys;
  const auto is_of = [&](const WholeBuffer& buffer, const RankList& list) {
    const TensorDesc& stack = buffer.gathers ? list.first : list.result;
    return stack.incarnation == buffer.whole.incarnation && list.first.shape == buffer.part.shape &&
           (buffer.gathers ? list.distance == buffer.part.elements : list.joined_along == 0U);
  };
  for (const WholeBuffer& buffer : wholes) {
    for (const RankList& list : joined_) {
      if (is_of(buffer, list)) {
        keys.insert(KeyOf(list));
        stacked_.insert({buffer.whole.incarnation, buffer.part.elements});
      }
    }
  }
  for (const RankList& list : cut_) {
    if (IsOwn(list)) {
      keys.insert(KeyOf(list));
    }
  }
  for (const std::vector<RankList>* const lists : {&joined_, &cut_}) {
    for (const RankList& list : *lists) {
      if (keys.contains(KeyOf(list))) {
        number_of_.try_emplace(KeyOf(list), static_cast<std::int64_t>(number_of_.size()));
        chosen_.push_back(list);
      }
    }
  }
}

bool RankLists::IsStacked(const WholeBuffer& buffer) const {
  return stacked_.contains({buffer.whole.incarnation, buffer.part.elements});
}

bool RankLists::Contains(const ValueList& list) const {
  const auto found = ListIn(Value{list});
  return found && number_of_.contains(KeyOf(*found));
}

void RankLists::Resize(ValueList& list, const ValueList& before) const {
  const std::int64_t number = number_of_.at(KeyOf(*ListIn(Value{before})));
  const TensorDesc first = *list[0].AsTensor();
  const std::int64_t distance = list[1].AsTensor()->offset - first.offset;
  list.resize(static_cast<std::size_t>(division_.to));
  for (std::int64_t i = division_.from; i < division_.to; ++i) {
    TensorDesc tensor = first;
    tensor.offset += i * distance;
    tensor.tensor_id = largest_id_ + 1 + number * division_.to + i;
    list[static_cast<std::size_t>(i)] = Value{std::move(tensor)};
  }
}

}  // namespace reprise
