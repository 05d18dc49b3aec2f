#include "predict/rescale/repeated_places.h"

#include <algorithm>

namespace reprise {
namespace {

std::int64_t FloorDivided(std::int64_t number, std::int64_t by) {
  return number / by - (number % by < 0 ? 1 : 0);
}

}  // namespace

RepeatedPlaces::RepeatedPlaces(const MicroBatches& found, std::int64_t more)
    : found_(found), more_(more), works_(found.order.works) {
  const ProgramOrder& order = found.order;
  for (std::uint32_t at = 0; at < order.nodes.size(); ++at) {
    const std::uint32_t main = order.main_of[at];
    std::vector<std::uint32_t>& alike = main == at ? works_[order.work[at]].places : pieces_[main];
    number_.push_back(static_cast<std::uint32_t>(alike.size()));
    alike.push_back(at);
  }
  std::uint64_t copies = 0;
  for (std::size_t s = 0; s < found.steps.size(); ++s) {
    const MicroBatchParts& passes = found.steps[s];
    for (std::uint32_t at = passes.begin(); at < passes.end; ++at) {
      Work& of = works_[order.WorkOf(at)];
      if (of.in_part++ == 0) {
        of.before = number_[order.main[at]];
        of.step = s;
      }
    }
    std::vector<std::uint64_t>& before = copies_before_.emplace_back();
    for (std::int64_t copy = 0; copy < more; ++copy) {
      before.push_back(copies);
      const Part part = SourceOf(s, copy);
      copies += part.end - part.begin;
    }
  }
}

std::vector<RepeatedPlace> RepeatedPlaces::All() const {
  std::vector<RepeatedPlace> all;
  std::uint32_t at = 0;
  for (std::size_t s = 0; s < found_.steps.size(); ++s) {
    for (; at < found_.order.PlaceOf(found_.steps[s].end); ++at) {
      if (!IsLeftOut(at)) {
        all.push_back({at});
      }
    }
    for (std::int64_t copy = 0; copy < more_; ++copy) {
      const Part part = SourceOf(s, copy);
      for (std::uint32_t place = part.begin; place < part.end; ++place) {
        all.push_back({place, copy});
      }
    }
  }
  for (; at < found_.order.nodes.size(); ++at) {
    all.push_back({at});
  }
  return all;
}

bool RepeatedPlaces::IsLeftOut(std::uint32_t place) const {
  return more_ < 0 && std::ranges::any_of(found_.steps, [&](const MicroBatchParts& passes) {
           const auto first = static_cast<std::uint32_t>(passes.end + more_ * passes.length);
           return place < found_.order.PlaceOf(passes.end) && place >= found_.order.PlaceOf(first);
         });
}

RepeatedPlaces::Part RepeatedPlaces::SourceOf(std::size_t step, std::int64_t copy) const {
  const MicroBatchParts& passes = found_.steps[step];
  const std::int64_t back = copy % (passes.times - 1) + 1;
  const auto begin = static_cast<std::uint32_t>(passes.end - back * passes.length);
  return {found_.order.PlaceOf(begin), found_.order.PlaceOf(begin + passes.length), back};
}

std::uint64_t RepeatedPlaces::NumberOfCopy(const RepeatedPlace& copy) const {
  const std::size_t step = *StepOf(copy.place);
  return copies_before_[step][static_cast<std::size_t>(copy.copy)] +
         (copy.place - SourceOf(step, copy.copy).begin);
}

std::optional<std::size_t> RepeatedPlaces::StepBefore(std::uint32_t place) const {
  std::optional<std::size_t> last;
  for (std::size_t s = 0;
       s < found_.steps.size() && found_.order.PlaceOf(found_.steps[s].end) <= place; ++s) {
    last = s;
  }
  return last;
}

std::optional<std::size_t> RepeatedPlaces::StepOf(std::uint32_t place) const {
  const Work& work = works_[found_.order.work[found_.order.main_of[place]]];
  return work.in_part == 0 ? std::nullopt : std::optional(work.step);
}

std::uint32_t RepeatedPlaces::PieceOf(std::uint32_t main, std::uint32_t piece) const {
  if (found_.order.main_of[piece] == piece) {
    return main;
  }
  const auto pieces = pieces_.find(main);
  return pieces == pieces_.end()
             ? main
             : pieces->second[std::min<std::size_t>(number_[piece], pieces->second.size() - 1)];
}

std::optional<RepeatedPlaces::Occurrence> RepeatedPlaces::OccurrenceOf(std::uint32_t place) const {
  const Work& work = works_[found_.order.work[place]];
  if (work.in_part == 0) {
    return std::nullopt;
  }
  const std::int64_t from_end = static_cast<std::int64_t>(number_[place]) - work.before -
                                static_cast<std::int64_t>(work.in_part);
  const std::int64_t part = FloorDivided(from_end, work.in_part);
  return Occurrence{work.step, part, from_end - part * work.in_part};
}

std::optional<std::uint32_t> RepeatedPlaces::PlaceOf(std::uint32_t work,
                                                     const Occurrence& of) const {
  const Work& places = works_[work];
  const std::int64_t number =
      static_cast<std::int64_t>(places.before) + (of.part + 1) * places.in_part + of.offset;
  return number >= 0 && number < static_cast<std::int64_t>(places.places.size())
             ? std::optional(places.places[static_cast<std::size_t>(number)])
             : std::nullopt;
}

std::optional<std::uint32_t> RepeatedPlaces::OnePartBefore(std::uint32_t place) const {
  const std::uint32_t main = found_.order.main_of[place];
  std::optional<Occurrence> occurrence = OccurrenceOf(main);
  if (!occurrence) {
    return std::nullopt;
  }
  --occurrence->part;
  const std::optional<std::uint32_t> before = PlaceOf(found_.order.work[main], *occurrence);
  return before ? std::optional(PieceOf(*before, place)) : std::nullopt;
}

std::optional<RepeatedPlace> RepeatedPlaces::Related(const RepeatedPlace& from, std::uint32_t to,
                                                     Relation relation) const {
  const std::uint32_t main = found_.order.main_of[to];
  std::optional<RepeatedPlace> related = RelatedMain(from, main, relation);
  if (related) {
    related->place = related->place == main ? to : PieceOf(related->place, to);
  }
  return related;
}

std::int64_t RepeatedPlaces::LaterThan(const RepeatedPlace& one, std::size_t step,
                                       Relation relation) const {
  const std::optional<Occurrence> own = OccurrenceOf(found_.order.main_of[one.place]);
  const auto is_after = [&](std::size_t parts) {
    return one.place >= found_.order.PlaceOf(found_.steps[parts].end);
  };
  const bool same_passes = own && own->step == step;
  if (same_passes || (own && relation == Relation::kOfMicroBatch &&
                      found_.steps[own->step].step == found_.steps[step].step)) {
    return one.copy >= 0 ? one.copy - own->part : is_after(own->step) ? more_ : 0;
  }
  // What no part has, but between forward and backward passes, is of the first micro-batch.
  std::size_t last = step;
  while (relation == Relation::kOfMicroBatch && last + 1 < found_.steps.size() &&
         found_.steps[last + 1].step == found_.steps[step].step) {
    ++last;
  }
  return one.copy >= 0 || is_after(last) ? more_ : 0;
}

std::optional<RepeatedPlace> RepeatedPlaces::RelatedMain(const RepeatedPlace& from,
                                                         std::uint32_t to,
                                                         Relation relation) const {
  std::optional<Occurrence> occurrence = OccurrenceOf(to);
  const std::int64_t later = occurrence ? LaterThan(from, occurrence->step, relation) : 0;
  if (later == 0 && from.copy < 0) {
    return IsLeftOut(to) ? std::nullopt : std::optional(RepeatedPlace{to});
  }
  if (!occurrence) {
    return RepeatedPlace{to};
  }
  occurrence->part += later;
  const std::uint32_t work = found_.order.work[to];
  if (occurrence->part >= 0 && occurrence->part < more_) {
    const std::int64_t copy = occurrence->part;
    occurrence->part = -SourceOf(occurrence->step, copy).back;
    return RepeatedPlace{*PlaceOf(work, *occurrence), copy};
  }
  if (occurrence->part >= more_) {
    occurrence->part -= more_;
  }
  const std::optional<std::uint32_t> place = PlaceOf(work, *occurrence);
  return place ? std::optional(RepeatedPlace{*place}) : std::nullopt;
}

}  // namespace reprise
