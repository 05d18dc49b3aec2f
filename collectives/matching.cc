// The check before a replay, of a set whose plans are all in one process: what would hang or
// corrupt is refused, and explained.
#include <algorithm>

#include "collectives/communicator.h"
#include "collectives/sequence_check.h"
#include "collectives/sequences.h"

namespace reprise {
namespace {

using Plans = std::vector<std::vector<PlannedTransfer>>;

std::optional<SequenceMismatch> CheckOne(const Plans& plans, const SequenceKey& key,
                                         const Sequences::ByRank& by_rank,
                                         const std::vector<std::int32_t>& ranks) {
  std::map<std::int32_t, MemberSequence> parts;
  for (const auto& [rank, positions] : by_rank) {
    const std::vector<PlannedTransfer>& plan = plans[static_cast<std::size_t>(rank)];
    std::string what =
        Misplaced(key, rank, plan[positions.front()], ranks, static_cast<int>(plans.size()));
    if (!what.empty()) {
      return SequenceMismatch{0, std::move(what)};
    }
    parts[rank] = PartOf(plan, positions);
  }
  return CheckSequence(key, parts, ranks);
}

}  // namespace

SequenceKey SequenceKeyOf(const CommSpec& spec, std::int32_t rank) {
  SequenceKey key{.group = spec.group};
  if (spec.kind == CommKind::kSend) {
    key.source = rank;
    key.destination = spec.peer;
  } else if (spec.kind == CommKind::kRecv) {
    key.source = spec.peer;
    key.destination = rank;
  }
  return key;
}

Sequences::Sequences(const Plans& plans) {
  for (std::size_t rank = 0; rank < plans.size(); ++rank) {
    const auto global = static_cast<std::int32_t>(rank);
    for (auto& [key, positions] : SequencesOf(plans[rank], global)) {
      sequences_[key][global] = std::move(positions);
    }
  }
}

std::map<SequenceKey, std::vector<std::size_t>> SequencesOf(
    const std::vector<PlannedTransfer>& plan, std::int32_t rank) {
  std::map<SequenceKey, std::vector<std::size_t>> sequences;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (!plan[i].spec.outside) {  // else it matches no other
      sequences[SequenceKeyOf(plan[i].spec, rank)].push_back(i);
    }
  }
  return sequences;
}

MemberSequence PartOf(const std::vector<PlannedTransfer>& plan,
                      const std::vector<std::size_t>& positions) {
  MemberSequence part{.length = positions.size()};
  part.known.reserve(positions.size());
  for (const std::size_t position : positions) {
    part.known.push_back(&plan[position]);
  }
  return part;
}

Status MatchTransfers(const Plans& plans, const RanksOfGroup& ranks_of_group) {
  std::vector<std::string> texts;
  const Sequences sequences(plans);
  for (const auto& [key, by_rank] : sequences.all()) {
    auto mismatch = CheckOne(plans, key, by_rank, ranks_of_group(key.group));
    if (mismatch) {
      texts.push_back(std::move(mismatch->text));
    }
  }
  return ReportMismatches(texts, texts.size());
}

}  // namespace reprise
