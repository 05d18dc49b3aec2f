#include "predict/rescale/tensors/divided_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <numeric>
#include <utility>

namespace reprise {

// The one dimension in which the buffer is larger is divided.
void DividedTensors::RelateParts(const WholeBuffer& buffer) {
  const auto& [part, whole, gathers, node, op] = buffer;
  const std::size_t before = whole.shape.size() - part.shape.size();
  if (before == 1) {
    ranks_.push_back(*PlaceOf(whole, 0));
  }
  const bool stacked = lists_.IsStacked(buffer);
  for (std::size_t dim = 0; dim < part.shape.size(); ++dim) {
    const Place place = *PlaceOf(part, dim), other = *PlaceOf(whole, dim + before);
    if (whole.shape[dim + before] == part.shape[dim]) {
      related_.push_back({{place, other}, node, op});
    } else if (!stacked) {
      seeds_.insert(related_.size());
      related_.push_back({{place}, node, op});
    }
  }
}

// Ranks' parts that lie in a dimension of their storage, which is divided in each of them.
void DividedTensors::RelateLists() {
  for (const RankList& list : lists_.chosen()) {
    const std::size_t tensor = storages_.at(list.first.incarnation).NumberOf(list.first);
    for (std::size_t dim = 0; dim < list.first.shape.size(); ++dim) {
      const bool cut = list.first.strides[dim] * list.first.shape[dim] == list.distance &&
                       list.first.shape[dim] > 1 && list.first.elements != list.distance;
      const bool joined = list.first.elements == list.distance && list.joined_along == dim;
      if (cut || joined) {
        seeds_.insert(related_.size());
        related_.push_back({{{list.first.incarnation, tensor, dim}}, 0, 0});
      }
    }
  }
}

// What is joined from a list has all that ranks divide.
void DividedTensors::DropJoined() {
  for (const std::size_t at : joins_) {
    Related& related = related_[at];
    const bool of_ranks = std::ranges::any_of(lists_.chosen(), [&](const RankList& list) {
      return list.joined_along &&
             std::ranges::any_of(related.places,
                                 [&](const Place& place) {
                                   return place.storage == list.result.incarnation &&
                                          place.dim == *list.joined_along;
                                 }) &&
             std::ranges::any_of(related.places, [&](const Place& place) {
               return place.storage == list.first.incarnation;
             });
    });
    if (of_ranks) {
      related.places.clear();
    }
  }
}

// Of the first tensor's storage, and of what is joined from them for a scatter.
void DividedTensors::PlaceLists() {
  for (const RankList& list : lists_.chosen()) {
    storages_.at(list.first.incarnation).PlaceParts(list.distance, division_.from);
  }
  for (const WholeBuffer& buffer : wholes_) {
    if (lists_.IsStacked(buffer)) {
      storages_.at(buffer.whole.incarnation).PlaceParts(buffer.part.elements, division_.from);
    }
  }
}

bool DividedTensors::IsDivided(const Related& related) const {
  const auto operands =
      related.places.begin() +
      static_cast<std::ptrdiff_t>(related.results.value_or(related.places.size()));
  return std::any_of(related.places.begin(), operands, [this](const Place& place) {
    return storages_.at(place.storage).IsDivided(place.tensor, place.dim);
  });
}

// First all dimensions of ranks: where they are known, what joins them with their parts is not
// divided.
void DividedTensors::PlaceAllRanks() {
  std::deque<std::size_t> open;
  const auto place_ranks = [&](const Place& place) {
    DividedLayout& layout = storages_.at(place.storage);
    if (!layout.IsFlat(place.tensor) && !layout.IsOfRanks(place.tensor, place.dim)) {
      layout.PlaceRanks(place.tensor, place.dim);
      const std::vector<std::size_t>& next = related_of_[place.storage];
      open.insert(open.end(), next.begin(), next.end());
    }
  };
  std::ranges::for_each(ranks_, place_ranks);
  while (!open.empty()) {
    const Related& related = related_[open.front()];
    open.pop_front();
    if (std::ranges::any_of(related.places, [this](const Place& place) {
          return storages_.at(place.storage).IsOfRanks(place.tensor, place.dim);
        })) {
      std::ranges::for_each(related.places, place_ranks);
    }
  }
}

Status DividedTensors::DivideAll() {
  std::deque<std::size_t> open(seeds_.begin(), seeds_.end());
  while (!open.empty()) {
    const std::size_t at = open.front();
    const Related& related = related_[at];
    open.pop_front();
    if (!seeds_.contains(at) && !IsDivided(related)) {
      continue;
    }
    for (std::size_t i = related.results.value_or(0); i < related.places.size(); ++i) {
      const Place& place = related.places[i];
      DividedLayout& layout = storages_.at(place.storage);
      if (layout.IsFlat(place.tensor) || layout.IsDivided(place.tensor, place.dim)) {
        continue;
      }
      const bool not_heads = layout.ShapeOf(place.tensor)[place.dim] <= 1 && !IsHead(place);
      if (not_heads && related.results) {
        continue;
      }
      if (not_heads ||
          !layout.Divide(place.tensor, place.dim, division_, HeadElementsAt(related, i))) {
        return CannotDivide(related, place);
      }
      const std::vector<std::size_t>& next = related_of_[place.storage];
      open.insert(open.end(), next.begin(), next.end());
    }
  }
  return {};
}

// Buffers of several tensors, one behind the other, have as many elements as these; what is
// computed from them has, too: an optimizer's states, shares of data-parallel ranks.
void DividedTensors::SpreadSizes() {
  std::deque<std::size_t> open(related_.size());
  std::iota(open.begin(), open.end(), 0);
  while (!open.empty()) {
    const Related& related = related_[open.front()];
    open.pop_front();
    std::int64_t before = 0, after = 0;
    if (related.results) {
      continue;
    }
    for (const Place& place : related.places) {
      const DividedLayout& layout = storages_.at(place.storage);
      const auto elements = layout.ElementsAfter(place.tensor, division_);
      if (elements) {
        before = layout.ShapeOf(place.tensor)[place.dim];
        after = *elements;
      }
    }
    for (const Place& place : related.places) {
      DividedLayout& layout = storages_.at(place.storage);
      if (before == after || layout.HasElements() || !layout.IsVector()) {
        continue;
      }
      const std::int64_t own = layout.ShapeOf(place.tensor)[place.dim];
      if (own * after % before == 0) {
        layout.SetElements(own * after / before);
        const std::vector<std::size_t>& next = related_of_[place.storage];
        open.insert(open.end(), next.begin(), next.end());
      }
    }
  }
}

// What was of one size still is, what an operator needs whole is, and where it sums what ranks
// divide, they sum its results.
Status DividedTensors::CheckRelated() const {
  for (const std::size_t at : whole_) {
    if (IsDivided(related_[at])) {
      const auto one_head = std::ranges::find_if(related_[at].places, [this](const Place& place) {
        return storages_.at(place.storage).HasOneHead();
      });
      if (one_head != related_[at].places.end() && division_.from % division_.to != 0) {
        return CannotDivide(related_[at], *one_head);
      }
      const Place& place = related_[at].places[0];
      return BadInput(fmt::format(
          "node {} ({}): dimension {} of a tensor [{}] would be divided, which the operator needs "
          "whole; with one head for each rank, it is not known which tensors have a head more",
          related_[at].node, ops_[related_[at].op], place.dim,
          fmt::join(storages_.at(place.storage).ShapeOf(place.tensor), ", ")));
    }
  }
  for (const std::size_t at : sums_) {
    if (!seeds_.contains(at) && IsDivided(related_[at])) {
      return BadInput(fmt::format(
          "node {} ({}): it sums what {} ranks divide, and no transfer that is known sums their "
          "results",
          related_[at].node, ops_[related_[at].op], Ranks()));
    }
  }
  for (const Related& related : related_) {
    if (related.results) {
      REPRISE_TRY(CheckOnes(related));
      continue;
    }
    std::map<std::int64_t, std::int64_t> after;  // by size before
    for (const Place& place : related.places) {
      const DividedLayout& layout = storages_.at(place.storage);
      const std::int64_t before = layout.ShapeOf(place.tensor)[place.dim];
      if (before == 1 && !IsHead(place)) {
        continue;
      }
      const auto size = layout.SizeAfter(place.tensor, place.dim, division_);
      if (!size || after.try_emplace(before, *size).first->second != *size) {
        return BadInput(fmt::format(
            "node {} ({}): dimension {} of a tensor [{}] belongs to others that change their size, "
            "and its own at {} {} ranks is not known",
            related.node, ops_[related.op], place.dim,
            fmt::join(layout.ShapeOf(place.tensor), ", "), division_.to, Ranks()));
      }
    }
  }
  return {};
}

Status DividedTensors::Solve() {
  lists_.Choose(wholes_);
  DropJoined();
  RelateLists();
  for (const WholeBuffer& buffer : wholes_) {
    RelateParts(buffer);
  }
  for (auto& [storage, layout] : storages_) {
    // Layers' experts are in one buffer, of which a step may show no whole.
    layout.EndAdding(experts_.has_value());
  }
  PlaceLists();
  if (experts_) {
    REPRISE_TRY(PlaceExperts());
  }
  if (seeds_.empty()) {
    return BadInput(
        "no transfer among tensor-parallel ranks says which tensors they divide: no gather or "
        "scatter, and no sum of a product whose operator is known");
  }
  for (std::size_t i = 0; i < related_.size(); ++i) {
    for (const Place& place : related_[i].places) {
      std::vector<std::size_t>& all = related_of_[place.storage];
      if (all.empty() || all.back() != i) {
        all.push_back(i);
      }
    }
  }
  if (!experts_) {  // heads stay
    SpreadHeads();
    REPRISE_TRY(CheckKeyHeads());
  }
  for (const auto& [place, ranks] : shares_) {
    storages_.at(place.storage).SetShare(place.tensor, ranks);
  }
  PlaceAllRanks();
  REPRISE_TRY(DivideAll());
  SpreadSizes();
  REPRISE_TRY(CheckRelated());
  REPRISE_TRY(CheckOrder());
  REPRISE_TRY(CheckCopies());
  for (const Related& one : unknown_) {
    if (IsDivided(one)) {
      return BadInput(
          fmt::format("node {} ({}): it works on a tensor that {} ranks divide, in a way that is "
                      "not known of this operator",
                      one.node, ops_[one.op], Ranks()));
    }
  }
  for (const std::size_t at : vocabularies_) {
    if (!experts_ && IsDivided(related_[at])) {  // those of experts are no vocabulary
      const Place& place = related_[at].places[0];
      rows_.insert(storages_.at(place.storage).ShapeOf(place.tensor)[place.dim]);
    }
  }
  return {};
}

}  // namespace reprise
