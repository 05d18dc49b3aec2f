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
  const std::vector<std::uint32_t>& work = found.order.work;
  number_.reserve(work.size());
  for (std::uint32_t at = 0; at < work.size(); ++at) {
    std::vector<std::uint32_t>& places = works_[work[at]].places;
    number_.push_back(static_cast<std::uint32_t>(places.size()));
    places.push_back(at);
  }
  for (std::size_t s = 0; s < found.steps.size(); ++s) {
    const MicroBatchParts& passes = found.steps[s];
    for (std::uint32_t at = passes.begin(); at < passes.end; ++at) {
      Work& of = works_[work[at]];
      if (of.in_part++ == 0) {
        of.before = number_[at];
        of.step = s;
      }
    }
  }
}

std::vector<RepeatedPlace> RepeatedPlaces::All() const {
  std::vector<RepeatedPlace> all;
  std::uint32_t at = 0;
  for (std::size_t s = 0; s < found_.steps.size(); ++s) {
    const MicroBatchParts& passes = found_.steps[s];
    for (; at < passes.end; ++at) {
      if (!IsLeftOut(at)) {
        all.push_back({at});
      }
    }
    for (std::int64_t copy = 0; copy < more_; ++copy) {
      const std::uint32_t begin = SourceBegin(s, copy);
      for (std::uint32_t k = 0; k < passes.length; ++k) {
        all.push_back({begin + k, copy});
      }
    }
  }
  for (; at < number_.size(); ++at) {
    all.push_back({at});
  }
  return all;
}

bool RepeatedPlaces::IsLeftOut(std::uint32_t place) const {
  return std::ranges::any_of(found_.steps, [&](const MicroBatchParts& passes) {
    return place < passes.end && place >= passes.end + more_ * passes.length;
  });
}

std::uint32_t RepeatedPlaces::SourceBegin(std::size_t step, std::int64_t copy) const {
  const MicroBatchParts& passes = found_.steps[step];
  return static_cast<std::uint32_t>(passes.end - (copy % (passes.times - 1) + 1) * passes.length);
}

std::optional<std::size_t> RepeatedPlaces::StepBefore(std::uint32_t place) const {
  std::optional<std::size_t> last;
  for (std::size_t s = 0; s < found_.steps.size() && found_.steps[s].end <= place; ++s) {
    last = s;
  }
  return last;
}

std::optional<std::size_t> RepeatedPlaces::StepOf(std::uint32_t place) const {
  const Work& work = works_[found_.order.work[place]];
  return work.in_part == 0 ? std::nullopt : std::optional(work.step);
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
  std::optional<Occurrence> occurrence = OccurrenceOf(place);
  if (!occurrence) {
    return std::nullopt;
  }
  --occurrence->part;
  return PlaceOf(found_.order.work[place], *occurrence);
}

std::optional<RepeatedPlace> RepeatedPlaces::Related(const RepeatedPlace& from,
                                                     std::uint32_t to) const {
  std::optional<Occurrence> occurrence = OccurrenceOf(to);
  const bool is_copy = from.copy >= 0;
  const bool moves = occurrence && from.place >= found_.steps[occurrence->step].end;
  if (!occurrence || (!is_copy && !moves)) {
    return IsLeftOut(to) ? std::nullopt : std::optional(RepeatedPlace{to});
  }
  const std::optional<Occurrence> own = is_copy ? OccurrenceOf(from.place) : std::nullopt;
  occurrence->part += own && own->step == occurrence->step ? from.copy - own->part : more_;
  const std::uint32_t work = found_.order.work[to];
  if (occurrence->part >= 0 && occurrence->part < more_) {
    const std::int64_t copy = occurrence->part;
    const MicroBatchParts& passes = found_.steps[occurrence->step];
    // Its offset in each part is that in the last one.
    occurrence->part = -1;
    const std::uint32_t in_last = *PlaceOf(work, *occurrence);
    return RepeatedPlace{SourceBegin(occurrence->step, copy) + (in_last - passes.begin()), copy};
  }
  if (occurrence->part >= more_) {
    occurrence->part -= more_;
  }
  const std::optional<std::uint32_t> place = PlaceOf(work, *occurrence);
  return place ? std::optional(RepeatedPlace{*place}) : std::nullopt;
}

}  // namespace reprise
