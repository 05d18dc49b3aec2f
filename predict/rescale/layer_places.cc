#include "predict/rescale/layer_places.h"

#include <algorithm>

namespace reprise {

LayerPlaces::LayerPlaces(const Layers& found, std::int64_t more)
    : Repetition(found.order, found.parts, more), found_(found) {
  std::uint32_t index = 0;
  for (std::uint32_t place = 0; place < order().nodes.size(); ++place) {
    const std::uint32_t main = order().main_of[place];
    const bool is_main = main == place && !order().apart[place];
    main_index_.push_back(is_main                ? index++
                          : order().apart[place] ? std::max(index, 1U) - 1  // what it comes after
                                                 : main_index_[main]);
  }
  for (std::size_t s = 0; s < found.parts.size(); ++s) {
    const RepeatedParts& parts = found.parts[s];
    const bool from_first = found.directions[s] == LayerDirection::kFirstToLast;
    const auto add = [&](std::uint32_t at, std::uint32_t like, std::int64_t part) {
      const bool beside = !found.PlaceOf(at) && order().WorkOf(at) == order().WorkOf(like);
      if (beside) {
        beside_.try_emplace(at,
                            Layers::Place{s, part, from_first ? part : found.count - 1 - part, 0});
      }
      return beside;
    };
    const std::uint32_t first = parts.first_begin(), end = parts.last_end();
    for (std::uint32_t k = 1; k <= std::min(parts.length, first); ++k) {
      if (!add(first - k, first - k + parts.length, -1)) {
        break;
      }
    }
    for (std::uint32_t at = end; at < std::min(end + parts.length, order().MainCount()); ++at) {
      if (!add(at, at - parts.length, found.count)) {
        break;
      }
    }
  }
}

std::optional<Layers::Place> LayerPlaces::Find(std::uint32_t place) const {
  return found_.PlaceOf(main_index_[place]);
}

std::optional<Layers::Place> LayerPlaces::FindBeside(std::uint32_t place) const {
  const auto beside = beside_.find(main_index_[place]);
  return beside == beside_.end() ? std::nullopt : std::optional(beside->second);
}

std::optional<std::size_t> LayerPlaces::PartsOf(std::uint32_t place) const {
  const auto found = order().apart[place] ? std::nullopt : Find(place);
  return found ? std::optional(found->parts) : std::nullopt;
}

std::optional<std::int64_t> LayerPlaces::LayerOf(std::uint32_t place) const {
  const auto found = Find(place);
  return found ? std::optional(found->layer) : std::nullopt;
}

std::optional<std::int64_t> LayerPlaces::LayerAfter(const RepeatedPlace& one) const {
  const auto found = Find(one.place);
  if (!found) {
    return std::nullopt;
  }
  const std::int64_t times = found_.parts[found->parts].times;
  const std::int64_t part = one.copy >= 0         ? times + one.copy
                            : found->part < times ? found->part
                                                  : found->part + more();
  return found_.directions[found->parts] == LayerDirection::kFirstToLast ? part
                                                                         : count_after() - 1 - part;
}

RepeatedPlace LayerPlaces::At(std::uint32_t place, std::int64_t layer_after) const {
  const Layers::Place found = *Find(place);
  const RepeatedParts& parts = found_.parts[found.parts];
  const bool from_first = found_.directions[found.parts] == LayerDirection::kFirstToLast;
  const std::int64_t part = from_first ? layer_after : count_after() - 1 - layer_after;
  const std::int64_t copy = part - parts.times;
  const bool is_copy = copy >= 0 && copy < more();
  const bool is_before = part < parts.times + std::min<std::int64_t>(more(), 0);
  const std::int64_t source = is_copy     ? parts.times - SourceOf(found.parts, copy).back
                              : is_before ? part
                                          : part - more();
  const auto index = static_cast<std::uint32_t>(parts.first_begin() + source * parts.length);
  return {order().main[index + found.offset], is_copy ? copy : -1};
}

bool LayerPlaces::IsNew(std::int64_t layer_after) const {
  const std::int64_t first_new = found_.count - 1;
  return layer_after >= first_new && layer_after < first_new + more();
}

std::int64_t LayerPlaces::SourceLayer(std::int64_t layer_after) const {
  const std::int64_t first_new = found_.count - 1;
  if (IsNew(layer_after)) {
    return std::max<std::int64_t>(first_new - 1, 0);
  }
  return layer_after < first_new + std::min<std::int64_t>(more(), 0) ? layer_after
                                                                     : layer_after - more();
}

std::int64_t LayerPlaces::FromNearerEnd(std::int64_t layer) const {
  const std::int64_t after = 2 * layer < found_.count - 1 ? layer : layer + more();
  return std::clamp<std::int64_t>(after, 0, count_after() - 1);
}

std::optional<std::uint32_t> LayerPlaces::MainOnePartBefore(std::uint32_t main) const {
  const auto found = Find(main);
  if (!found || order().apart[main]) {
    return std::nullopt;
  }
  const RepeatedParts& parts = found_.parts[found->parts];
  const std::uint32_t index = main_index_[main];
  return index >= parts.first_begin() + parts.length
             ? std::optional(order().main[index - parts.length])
             : std::nullopt;
}

std::optional<RepeatedPlace> LayerPlaces::RelatedMain(const RepeatedPlace& from, std::uint32_t to,
                                                      Relation relation) const {
  const auto target = Find(to);
  if (!target || order().apart[to]) {
    return RepeatedPlace{to};
  }
  const auto own = Find(from.place);
  if (!own) {
    const auto beside = FindBeside(from.place);
    if (beside) {
      const std::int64_t layer =
          target->layer - beside->layer + (beside->layer < 0 ? -1 : count_after());
      if (layer >= 0 && layer < count_after()) {
        return At(to, layer);
      }
    }
    return At(to, FromNearerEnd(target->layer));
  }
  // What begins after other parts follows on their last one, however many they are.
  if (relation == Relation::kOrder && from.copy < 0 && own->parts != target->parts &&
      own->part == 0 && target->part == found_.count - 1) {
    return At(to, FromNearerEnd(target->layer));
  }
  const std::int64_t layer = *LayerAfter(from) + target->layer - own->layer;
  return layer >= 0 && layer < count_after() ? std::optional(At(to, layer)) : std::nullopt;
}

std::optional<std::uint32_t> LayerPlaces::TwinOf(const RepeatedPlace& one) const {
  const auto found = Find(one.place);
  if (!found || order().apart[one.place] || (found->part != 0 && found->part != found_.count - 1)) {
    return std::nullopt;
  }
  const std::int64_t layer = *LayerAfter(one);
  const bool was_last = found->layer == found_.count - 1;
  if (layer == (was_last ? count_after() - 1 : 0)) {
    return std::nullopt;
  }
  const RepeatedParts& parts = found_.parts[found->parts];
  const std::int64_t part = found->part == 0 ? 1 : found->part - 1;
  const auto index = static_cast<std::uint32_t>(parts.first_begin() + part * parts.length);
  return order().main[index + found->offset];
}

std::optional<RepeatedPlace> LayerPlaces::RelatedLike(const RepeatedPlace& from, std::uint32_t twin,
                                                      std::uint32_t to) const {
  const auto target = Find(to);
  if (!target || order().apart[to]) {
    return std::nullopt;
  }
  const std::int64_t layer = *LayerAfter(from) + target->layer - *LayerOf(twin);
  return layer >= 0 && layer < count_after() ? std::optional(At(to, layer)) : std::nullopt;
}

}  // namespace reprise
