#include "predict/rescale/moved_ids.h"

#include <algorithm>

namespace reprise {

void MovedIds::Add(std::span<const std::int64_t> ids) {
  const auto place = static_cast<std::uint32_t>(begin_.size() - 1);
  const std::optional<std::uint32_t> before = places_.OnePartBefore(place);
  std::span<const std::int64_t> ids_before;
  if (before && *before < place) {
    ids_before = {ids_.data() + begin_[*before], ids_.data() + begin_[*before + 1]};
  }
  for (std::size_t k = 0; k < ids.size(); ++k) {
    if (ids[k] < 0) {
      continue;
    }
    origin_.try_emplace(ids[k], Origin{place, k});
    next_ = std::max(next_, ids[k] + 1);
    if (std::ranges::find(ids_before, ids[k]) != ids_before.end()) {
      lasting_.insert(ids[k]);
    }
  }
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  begin_.push_back(ids_.size());
}

std::int64_t MovedIds::FirstNamedAt(std::uint32_t place, std::size_t ordinal) const {
  const std::size_t at = begin_[place] + ordinal;
  if (at >= begin_[place + 1] || ids_[at] < 0 || lasting_.contains(ids_[at])) {
    return -1;
  }
  const Origin& origin = origin_.at(ids_[at]);
  return origin.place == place && origin.ordinal == ordinal ? ids_[at] : -1;
}

std::int64_t MovedIds::Of(const RepeatedPlace& from, std::int64_t id) {
  if (id < 0 || lasting_.contains(id)) {
    return id;
  }
  const Origin& origin = origin_.at(id);
  const std::optional<RepeatedPlace> named = places_.Related(from, origin.place);
  const std::int64_t there = named ? FirstNamedAt(named->place, origin.ordinal) : -1;
  if (there < 0) {
    return id;
  }
  if (named->copy < 0) {
    return there;
  }
  const auto [made, is_new] = made_.try_emplace({there, named->copy}, next_);
  if (is_new) {
    source_[next_++] = there;
  }
  return made->second;
}

void MovedIds::Make(const RepeatedPlace& copy) {
  for (std::size_t k = begin_[copy.place]; k < begin_[copy.place + 1]; ++k) {
    (void)Of(copy, ids_[k]);
  }
}

}  // namespace reprise
