#include "predict/rescale/repetition.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/input_file.h"

namespace reprise {

Status CheckRepetition(std::uint64_t nodes, const std::vector<RepeatedParts>& all,
                       std::int64_t more) {
  std::uint64_t length = 0;
  for (const RepeatedParts& of : all) {
    if (-more > of.times) {
      return BadInput(fmt::format(
          "step {}: {} parts are alike and one after the other, and {} would have to be left out",
          of.step, of.times, -more));
    }
    length += of.length;
  }
  const std::uint64_t limit = CurrentInputLimits().job_nodes;
  if (more > 0 && (nodes > limit || static_cast<std::uint64_t>(more) > (limit - nodes) / length)) {
    return BadInput(
        fmt::format("more nodes than {} for a rank, which --limits job_nodes=N raises: {} parts of "
                    "{} nodes are to be added",
                    limit, more, length));
  }
  return {};
}

Repetition::Repetition(const ProgramOrder& order, const std::vector<RepeatedParts>& parts,
                       std::int64_t more)
    : order_(order), parts_(parts), more_(more), places_(order.works) {
  for (std::uint32_t at = 0; at < order.nodes.size(); ++at) {
    const std::uint32_t main = order.main_of[at];
    std::vector<std::uint32_t>& alike = main == at ? places_[order.work[at]] : pieces_[main];
    number_.push_back(static_cast<std::uint32_t>(alike.size()));
    alike.push_back(at);
  }
  std::uint64_t copies = 0;
  for (std::size_t s = 0; s < parts.size(); ++s) {
    ends_.push_back(order.PlaceOf(parts[s].end));
    std::vector<std::uint64_t>& before = copies_before_.emplace_back();
    for (std::int64_t copy = 0; copy < more; ++copy) {
      before.push_back(copies);
      const Part part = SourceOf(s, copy);
      copies += part.end - part.begin;
    }
  }
}

std::vector<RepeatedPlace> Repetition::All() const {
  std::vector<RepeatedPlace> all;
  std::uint32_t at = 0;
  for (std::size_t s = 0; s < parts_.size(); ++s) {
    for (; at < ends_[s]; ++at) {
      if (!IsLeftOut(at)) {
        all.push_back({at});
      }
    }
    for (std::int64_t copy = 0; copy < more_; ++copy) {
      const Part part = SourceOf(s, copy);
      for (std::uint32_t place = part.begin; place < part.end; ++place) {
        if (!order_.apart[place]) {
          all.push_back({place, copy});
        }
      }
    }
  }
  for (; at < order_.nodes.size(); ++at) {
    all.push_back({at});
  }
  return all;
}

bool Repetition::IsLeftOut(std::uint32_t place) const {
  const std::size_t next = PartsBefore(place);
  if (more_ >= 0 || next == parts_.size() || order_.apart[place]) {
    return false;
  }
  const RepeatedParts& of = parts_[next];
  return place >= order_.PlaceOf(static_cast<std::uint32_t>(of.end + more_ * of.length));
}

Repetition::Part Repetition::SourceOf(std::size_t parts, std::int64_t copy) const {
  const RepeatedParts& of = parts_[parts];
  const std::int64_t back = of.times > 1 ? copy % (of.times - 1) + 1 : 0;
  const auto begin = static_cast<std::uint32_t>(of.end - back * of.length);
  return {order_.PlaceOf(begin), order_.PlaceOf(begin + of.length), back};
}

std::uint64_t Repetition::NumberOfCopy(const RepeatedPlace& copy) const {
  const std::size_t parts = *PartsOf(copy.place);
  return copies_before_[parts][static_cast<std::size_t>(copy.copy)] +
         (copy.place - SourceOf(parts, copy.copy).begin);
}

std::size_t Repetition::PartsBefore(std::uint32_t place) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(ends_, place) - ends_.begin());
}

std::optional<std::uint32_t> Repetition::OnePartBefore(std::uint32_t place) const {
  const std::optional<std::uint32_t> before = MainOnePartBefore(order_.main_of[place]);
  return before ? std::optional(PieceOf(*before, place)) : std::nullopt;
}

std::optional<RepeatedPlace> Repetition::Related(const RepeatedPlace& from, std::uint32_t to,
                                                 Relation relation) const {
  const std::uint32_t main = order_.main_of[to];
  std::optional<RepeatedPlace> related = RelatedMain(from, main, relation);
  if (related) {
    related->place = related->place == main ? to : PieceOf(related->place, to);
  }
  return related;
}

std::uint32_t Repetition::PieceOf(std::uint32_t main, std::uint32_t piece) const {
  if (order_.main_of[piece] == piece) {
    return main;
  }
  const auto pieces = pieces_.find(main);
  return pieces == pieces_.end()
             ? main
             : pieces->second[std::min<std::size_t>(number_[piece], pieces->second.size() - 1)];
}

}  // namespace reprise
