#include "predict/rescale/micro_batch_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace reprise {
namespace {

std::int64_t FloorDivided(std::int64_t number, std::int64_t by) {
  return number / by - (number % by < 0 ? 1 : 0);
}

}  // namespace

MicroBatchPlaces::MicroBatchPlaces(const MicroBatches& found, std::int64_t more)
    : Repetition(found.order, found.parts, more), works_(found.order.works) {
  for (std::size_t s = 0; s < found.parts.size(); ++s) {
    for (std::uint32_t at = found.parts[s].begin(); at < found.parts[s].end; ++at) {
      Work& of = works_[order().WorkOf(at)];
      if (of.in_part++ == 0) {
        of.before = NumberAt(order().main[at]);
        of.parts = s;
      }
    }
  }
}

Status MicroBatchPlaces::CheckOrder(const Graph& graph) const {
  using Alike = std::pair<std::uint32_t, std::int64_t>;  // work, and which of a part's
  std::map<Alike, Alike> forward_of;
  for (const std::uint32_t at : order().main) {
    const std::optional<Occurrence> own = OccurrenceOf(at);
    const Graph::Index node = order().nodes[at];
    for (std::size_t k = 0; own && k < graph.deps(node).size(); ++k) {
      if (graph.reasons(node)[k] != EdgeReason::kFwdBwd) {
        continue;
      }
      const std::uint32_t to = order().main_of[order().place[graph.deps(node)[k]]];
      if (const std::optional<Occurrence> other = OccurrenceOf(to)) {
        const Alike forward = {order().work[to], other->offset};
        const auto [known, is_new] =
            forward_of.try_emplace({order().work[at], own->offset}, forward);
        if (!is_new && known->second != forward) {
          return BadInput(fmt::format(
              "the passes of a step come in another order at its begin or end than in its middle "
              "(node {} (\"{}\"), by its forward node {}), as in a pipeline in a V: which of "
              "their nodes are of one layer is not known",
              graph.id(node), graph.name(node), graph.id(graph.deps(node)[k])));
        }
      }
    }
  }
  return {};
}

std::optional<std::size_t> MicroBatchPlaces::PartsOf(std::uint32_t place) const {
  const Work& work = works_[order().work[order().main_of[place]]];
  return work.in_part == 0 ? std::nullopt : std::optional(work.parts);
}

std::optional<MicroBatchPlaces::Occurrence> MicroBatchPlaces::OccurrenceOf(
    std::uint32_t place) const {
  const Work& work = works_[order().work[place]];
  if (work.in_part == 0) {
    return std::nullopt;
  }
  const std::int64_t from_end = static_cast<std::int64_t>(NumberAt(place)) - work.before -
                                static_cast<std::int64_t>(work.in_part);
  const std::int64_t part = FloorDivided(from_end, work.in_part);
  return Occurrence{work.parts, part, from_end - part * work.in_part};
}

std::optional<std::uint32_t> MicroBatchPlaces::PlaceOf(std::uint32_t work,
                                                       const Occurrence& of) const {
  const std::vector<std::uint32_t>& places = PlacesOf(work);
  const std::int64_t number = static_cast<std::int64_t>(works_[work].before) +
                              (of.part + 1) * works_[work].in_part + of.offset;
  return number >= 0 && number < static_cast<std::int64_t>(places.size())
             ? std::optional(places[static_cast<std::size_t>(number)])
             : std::nullopt;
}

std::optional<std::uint32_t> MicroBatchPlaces::MainOnePartBefore(std::uint32_t main) const {
  std::optional<Occurrence> occurrence = OccurrenceOf(main);
  if (!occurrence) {
    return std::nullopt;
  }
  --occurrence->part;
  return PlaceOf(order().work[main], *occurrence);
}

std::int64_t MicroBatchPlaces::LaterThan(const RepeatedPlace& one, std::size_t step,
                                         Relation relation) const {
  const std::optional<Occurrence> own = OccurrenceOf(order().main_of[one.place]);
  const auto is_after = [&](std::size_t of) {
    return one.place >= order().PlaceOf(parts()[of].end);
  };
  const bool same_passes = own && own->parts == step;
  if (same_passes ||
      (own && relation == Relation::kData && parts()[own->parts].step == parts()[step].step)) {
    return one.copy >= 0 ? one.copy - own->part : is_after(own->parts) ? more() : 0;
  }
  // What no part has, but between forward and backward passes, is of the first micro-batch.
  std::size_t last = step;
  while (relation == Relation::kData && last + 1 < parts().size() &&
         parts()[last + 1].step == parts()[step].step) {
    ++last;
  }
  return one.copy >= 0 || is_after(last) ? more() : 0;
}

std::optional<RepeatedPlace> MicroBatchPlaces::RelatedMain(const RepeatedPlace& from,
                                                           std::uint32_t to,
                                                           Relation relation) const {
  std::optional<Occurrence> occurrence = OccurrenceOf(to);
  const std::int64_t later = occurrence ? LaterThan(from, occurrence->parts, relation) : 0;
  if (later == 0 && from.copy < 0) {
    return IsLeftOut(to) ? std::nullopt : std::optional(RepeatedPlace{to});
  }
  if (!occurrence) {
    return RepeatedPlace{to};
  }
  occurrence->part += later;
  const std::uint32_t work = order().work[to];
  if (occurrence->part >= 0 && occurrence->part < more()) {
    const std::int64_t copy = occurrence->part;
    occurrence->part = -SourceOf(occurrence->parts, copy).back;
    return RepeatedPlace{*PlaceOf(work, *occurrence), copy};
  }
  if (occurrence->part >= more()) {
    occurrence->part -= more();
  }
  const std::optional<std::uint32_t> place = PlaceOf(work, *occurrence);
  return place ? std::optional(RepeatedPlace{*place}) : std::nullopt;
}

}  // namespace reprise
