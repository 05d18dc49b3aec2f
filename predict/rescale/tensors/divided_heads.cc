// DividedTensors: dimensions that count heads, of one head above all.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>
#include <string>

#include "core/operator_arguments.h"
#include "predict/rescale/tensors/divided_tensors.h"
#include "predict/rescale/tensors/shard_nodes.h"
#include "predict/rescale/tensors/viewed_dimensions.h"
#include "predict/workload/ops/model_operators.h"

namespace reprise {
namespace {

// "2, 4 and 8": numbers of ranks that divide as many heads.
std::string RanksThatDivide(std::int64_t heads) {
  std::vector<std::string> all;
  for (std::int64_t ranks = 2; ranks <= heads; ++ranks) {
    if (heads % ranks == 0) {
      all.push_back(fmt::format("{}", ranks));
    }
  }
  const std::string last = all.empty() ? "" : all.back();
  all.resize(all.size() - std::min<std::size_t>(all.size(), 1));
  return all.empty() ? last : fmt::format("{} and {}", fmt::join(all, ", "), last);
}

}  // namespace

// aten::contiguous and aten::reshape make a new tensor first if they need a copy; the latter sees
// it in its shape then.
void DividedTensors::CollectCopy(const Node& node) {
  const TensorDesc* const of = node.inputs.empty() ? nullptr : node.inputs[0].AsTensor();
  const TensorDesc* const result = node.outputs.empty() ? nullptr : node.outputs[0].AsTensor();
  if (of == nullptr || result == nullptr) {
    return;
  }
  constexpr std::size_t kFormatAt = 5;
  constexpr std::int64_t kContiguous = 0;
  const std::string& name = OperatorOf(node);
  if (name == "aten::empty_like" && node.inputs.size() > kFormatAt &&
      node.inputs[kFormatAt].AsNumber<std::int64_t>(-1) == kContiguous) {
    copies_[result->incarnation] = {*of, std::nullopt, node.id};
  } else if (const auto copy = copies_.find(of->incarnation);
             name == "aten::_unsafe_view" && copy != copies_.end() && !copy->second.as) {
    copy->second.as = *result;
  }
}

// With other sizes a copy may not be needed.
Status DividedTensors::CheckCopies() const {
  for (const auto& [storage, copy] : copies_) {
    TensorDesc of = copy.of, as = copy.as.value_or(copy.of);
    const auto layout = storages_.find(of.incarnation);
    if (layout == storages_.end() || !layout->second.Resize(of, division_) ||
        !storages_.at(as.incarnation).Resize(as, division_) || of == copy.of) {
      continue;
    }
    const bool needed = copy.as ? !StridesOfView(copy.of, copy.as->shape) : !IsContiguous(copy.of);
    const bool needed_after = copy.as ? !StridesOfView(of, as.shape) : !IsContiguous(of);
    if (needed && !needed_after) {
      return BadInput(fmt::format(
          "node {}: it copies a tensor [{}] into order, which at {} tensor-parallel ranks needs no "
          "copy: the job would have other operators",
          copy.node, fmt::join(copy.of.shape, ", "), division_.to));
    }
  }
  return {};
}

void DividedTensors::CollectHeads(const Node& node, const SameDimensions& same, std::size_t op) {
  CollectCopy(node);
  for (const OneElement& one : same.ones) {
    Related related{{}, node.id, op, one.results, {}};
    for (const TensorDimension& each : one.all) {
      if (const auto place = PlaceOf(*each.tensor, each.dim)) {
        related.places.push_back(*place);
      }
    }
    if (related.places.size() == one.all.size()) {
      related_.push_back(std::move(related));
    }
  }
  for (const ViewedDimension& viewed : ViewedDimensionsOf(node)) {
    const auto of = PlaceOf(*viewed.of, viewed.dim);
    const auto view = PlaceOf(*viewed.view, viewed.view_dim);
    if (of && view) {
      viewed_.emplace_back(*of, *view);
    }
  }
  if (!same.heads) {
    return;
  }
  const OpCall call{OperatorOf(node), node.inputs, node.outputs};
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  backward_ = backward_ || places.Has("out_grad");
  const TensorDesc* const keys = places.Tensor(call, "k");
  for (const TensorDimension& one : same.all[*same.heads]) {
    if (keys != nullptr && !key_heads_ && one.tensor->tensor_id == keys->tensor_id &&
        one.tensor->shape == keys->shape) {
      key_heads_ = PlaceOf(*one.tensor, one.dim);
      attention_ = node.id;
    }
  }
}

bool DividedTensors::IsHead(const Place& place) const {
  return storages_.at(place.storage).IsOfHeads(place.tensor, place.dim);
}

// One head of keys and values may be the rank's own, or one that several ranks share.
Status DividedTensors::CheckKeyHeads() const {
  if (!key_heads_) {
    return {};  // a pipeline stage without attention
  }
  const std::int64_t own =
      storages_.at(key_heads_->storage).ShapeOf(key_heads_->tensor)[key_heads_->dim];
  if (kv_heads_ == 0) {
    return own > 1 || backward_
               ? Status{}
               : BadInput(fmt::format(
                     "node {}: each rank has one head of keys and values; without a backward pass "
                     "it is not known whether ranks share heads; give --kv-heads, the model's "
                     "number of them",
                     attention_));
  }
  if (kv_heads_ < own * division_.from && own == 1) {
    return BadInput(fmt::format(
        "--kv-heads {}: ranks share heads of keys and values, of which each of the {} "
        "tensor-parallel ranks has one; at another number of ranks it is not known which do",
        kv_heads_, division_.from));
  }
  if (kv_heads_ != own * division_.from) {
    return BadInput(fmt::format(
        "--kv-heads {}: node {} has keys with {} heads on each of {} tensor-parallel ranks: "
        "expected {}",
        kv_heads_, attention_, own, division_.from, own * division_.from));
  }
  return {};
}

// From attention to all that has the same dimension.
void DividedTensors::SpreadHeads() {
  const auto is_one = [this](const Place& place) {
    return storages_.at(place.storage).ShapeOf(place.tensor)[place.dim] == 1;
  };
  if (std::ranges::none_of(heads_, [&](std::size_t at) {
        return std::ranges::any_of(related_[at].places, is_one);
      })) {
    return;  // addresses say it of all
  }
  std::unordered_map<std::int64_t, std::vector<std::size_t>> views;  // by storage
  for (std::size_t i = 0; i < viewed_.size(); ++i) {
    views[viewed_[i].first.storage].push_back(i);
  }
  std::deque<Place> open;
  const auto set = [&](const Place& place) {
    if (storages_.at(place.storage).SetHeads(place.tensor, place.dim)) {
      open.push_back(place);
    }
  };
  const auto is = [](const Place& a, const Place& b) {
    return a.storage == b.storage && a.tensor == b.tensor && a.dim == b.dim;
  };
  for (const std::size_t at : heads_) {
    std::ranges::for_each(related_[at].places, set);
  }
  while (!open.empty()) {
    const Place place = open.front();
    open.pop_front();
    for (const std::size_t at : related_of_[place.storage]) {
      const std::vector<Place>& places = related_[at].places;
      if (std::ranges::any_of(places, [&](const Place& one) { return is(one, place); })) {
        std::ranges::for_each(places, set);
      }
    }
    for (const std::size_t at : views[place.storage]) {
      const auto& [of, view] = viewed_[at];
      if (is(of, place)) {
        set(view);
      } else if (is(view, place)) {
        set(of);
      }
    }
  }
}

// Of one head, if it has the same dimensions there as in another tensor.
std::optional<std::int64_t> DividedTensors::ElementsAsIn(const Place& like,
                                                         const Place& place) const {
  const std::vector<std::int64_t>& shape = storages_.at(place.storage).ShapeOf(place.tensor);
  const auto parts = storages_.at(like.storage).PartsOfHeads(like.tensor);
  if (!parts || parts->size() != shape.size()) {
    return std::nullopt;
  }
  std::int64_t elements = 1;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    elements *= (*parts)[dim] ? shape[dim] : 1;
  }
  return elements;
}

// Of one head and one sample, memory does not show whether heads lie before tokens or behind them.
// Attention says it of its results, and tensors that are written in order say it.
Status DividedTensors::CheckOrder() const {
  std::set<std::int64_t> laid;  // storages
  for (const std::size_t at : heads_) {
    const Related& related = related_[at];
    for (std::size_t i = 0; i < related.laid_like.size(); ++i) {
      const Place& place = related.places[i];
      const auto elements =
          related.laid_like[i] ? ElementsAsIn(*related.laid_like[i], place) : std::nullopt;
      if (elements && elements == ElementsAsIn(place, place)) {
        laid.insert(place.storage);
      }
    }
  }
  for (const Related& related : related_) {
    for (const Place& place : related.places) {
      const DividedLayout& layout = storages_.at(place.storage);
      if (!IsHead(place) || laid.contains(place.storage) || !layout.IsOrderInDoubt()) {
        continue;
      }
      return BadInput(fmt::format(
          "node {} ({}): a tensor [{}] of one head: whether others would lie before its tokens in "
          "memory or behind them is not known",
          related.node, ops_[related.op], fmt::join(layout.ShapeOf(place.tensor), ", ")));
    }
  }
  return {};
}

// Elements that one head may have in the storage: as in the tensor whose order in memory it has;
// as where all its dimensions are in order; as in what it is computed from or with.
std::vector<std::int64_t> DividedTensors::HeadElementsAt(const Related& related,
                                                         std::size_t place) const {
  const Place& at = related.places[place];
  const DividedLayout& layout = storages_.at(at.storage);
  const std::vector<std::int64_t>& shape = layout.ShapeOf(at.tensor);
  std::vector<std::int64_t> all;
  if (shape[at.dim] != 1) {
    return all;
  }
  const auto add = [&](const Place& like) {
    if (const auto elements = ElementsAsIn(like, at)) {
      all.push_back(*elements);
    }
  };
  if (place < related.laid_like.size() && related.laid_like[place]) {
    add(*related.laid_like[place]);
  }
  const std::vector<std::int64_t> in_order = layout.HeadElements();
  all.insert(all.end(), in_order.begin(), in_order.end());
  std::ranges::for_each(related.places, add);
  return all;
}

Status DividedTensors::CheckOnes(const Related& related) const {
  const auto is_divided = [this](const Place& place) {
    return storages_.at(place.storage).IsDivided(place.tensor, place.dim);
  };
  const bool operands = IsDivided(related);
  for (std::size_t i = *related.results; i < related.places.size(); ++i) {
    if (is_divided(related.places[i]) != operands) {
      const Place& place = related.places[i];
      return BadInput(fmt::format(
          "node {} ({}): dimension {} of a tensor [{}] counts one head of each rank, or not: what "
          "it is at {} {} ranks is not known",
          related.node, ops_[related.op], place.dim,
          fmt::join(storages_.at(place.storage).ShapeOf(place.tensor), ", "), division_.to,
          Ranks()));
    }
  }
  return {};
}

tl::unexpected<Error> DividedTensors::CannotDivide(const Related& related,
                                                   const Place& place) const {
  const DividedLayout& layout = storages_.at(place.storage);
  std::string message = fmt::format(
      "node {} ({}): dimension {} of a tensor [{}] is divided among {} ranks, and {} ranks "
      "can't divide it, or others of its storage, alike",
      related.node, ops_[related.op], place.dim, fmt::join(layout.ShapeOf(place.tensor), ", "),
      division_.from, division_.to);
  if (layout.HasOneHead() && division_.from % division_.to != 0) {
    message += fmt::format("; each rank has one head in it, and {} ranks divide these {} heads",
                           RanksThatDivide(division_.from), division_.from);
  }
  return BadInput(std::move(message));
}

}  // namespace reprise
