#include "predict/rescale/moved_ids.h"

#include <algorithm>

namespace reprise {

void MovedIds::Add(std::span<const std::int64_t> ids, std::size_t inputs) {
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
    const auto [origin, is_new] = origin_.try_emplace(ids[k], Origin{place, k, k < inputs});
    if (!is_new && origin->second.was_there && !places_.PartsOf(origin->second.place) &&
        places_.PartsOf(place)) {
      origin->second = {place, k, true};
    }
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
  if (!places_.PartsOf(origin_.at(id).place)) {
    if (const std::optional<std::int64_t> like = LikeTwin(from, id)) {
      return *like;
    }
  }
  const std::optional<RepeatedPlace> named = places_.Related(from, origin_.at(id).place);
  return named ? NamedBy(*named, id) : id;
}

std::optional<std::int64_t> MovedIds::LikeTwin(const RepeatedPlace& from, std::int64_t id) {
  const std::optional<std::uint32_t> twin = places_.TwinOf(from);
  if (!twin) {
    return std::nullopt;
  }
  const auto begin = ids_.begin() + static_cast<std::ptrdiff_t>(begin_[from.place]);
  const auto end = ids_.begin() + static_cast<std::ptrdiff_t>(begin_[from.place + 1]);
  const auto at = begin_[*twin] + static_cast<std::size_t>(std::find(begin, end, id) - begin);
  const std::optional<std::uint32_t> place =
      at < begin_[*twin + 1] ? PlaceOf(ids_[at]) : std::nullopt;
  const auto named = place ? places_.RelatedLike(from, *twin, *place) : std::nullopt;
  return named ? std::optional(NamedBy(*named, ids_[at])) : std::nullopt;
}

std::optional<std::uint32_t> MovedIds::PlaceOf(std::int64_t id) const {
  const auto origin = origin_.find(id);
  return id < 0 || origin == origin_.end() || lasting_.contains(id)
             ? std::nullopt
             : std::optional(origin->second.place);
}

std::int64_t MovedIds::NamedBy(const RepeatedPlace& one, std::int64_t id) {
  const std::int64_t there = FirstNamedAt(one.place, origin_.at(id).ordinal);
  if (there < 0) {
    return id;
  }
  return one.copy < 0 ? there : Fresh(there, one.copy);
}

std::int64_t MovedIds::Fresh(std::int64_t id, std::int64_t copy) {
  const auto [made, is_new] = made_.try_emplace({id, copy}, next_);
  if (is_new) {
    source_[next_++] = id;
  }
  return made->second;
}

void MovedIds::Make(const RepeatedPlace& copy) {
  for (std::size_t k = begin_[copy.place]; k < begin_[copy.place + 1]; ++k) {
    (void)Of(copy, ids_[k]);
  }
}

}  // namespace reprise
