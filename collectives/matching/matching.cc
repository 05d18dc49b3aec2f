// The check of a set whose plans are all in one process.
#include "collectives/matching/matching.h"

#include <algorithm>
#include <numeric>

#include "collectives/matching/sequence_check.h"
#include "collectives/matching/splits.h"

namespace reprise {
namespace {

using Members = std::vector<PlannedTransfer*>;  // of one collective, in group order

// From each member's own share; nothing if all shares are even.
void FillFromShares(const Members& members) {
  std::vector<std::int64_t> splits;
  bool uneven = false;
  for (const PlannedTransfer* member : members) {
    splits.push_back(ShareOf(member->spec));
    uneven = uneven || !ShareSplits(member->spec).empty() || splits.back() != splits.front();
  }
  for (PlannedTransfer* member : members) {
    if (uneven && ShareSplits(member->spec).empty()) {
      ShareSplits(member->spec) = splits;
    }
  }
}

void FillSplits(const Members& members) {
  const CommKind kind = members.front()->spec.kind;
  const bool same = std::ranges::all_of(
      members, [kind](const auto* member) { return member->spec.kind == kind; });
  if (!same) {
    return;  // a mismatch, which matching reports
  }
  if (HasShares(kind)) {
    FillFromShares(members);
  } else if (kind == CommKind::kAllToAll && std::ranges::any_of(members, [](const auto* member) {
               return HasSplits(member->spec);
             })) {
    for (PlannedTransfer* member : members) {
      ListEvenSplits(member->spec, members.size());
    }
  }
}

std::optional<SequenceMismatch> CheckOne(const std::vector<std::vector<PlannedTransfer>>& plans,
                                         const SequenceKey& key, const PositionsByRank& by_rank,
                                         const std::vector<std::int32_t>& ranks) {
  std::map<std::int32_t, MemberSequence> parts;
  for (const auto& [rank, positions] : by_rank) {
    const std::vector<PlannedTransfer>& plan = plans[static_cast<std::size_t>(rank)];
    std::string what =
        Misplaced(key, rank, plan[positions.front()], ranks, static_cast<int>(plans.size()));
    if (!what.empty()) {
      return SequenceMismatch{0, std::move(what)};
    }
    MemberSequence& part = parts[rank];
    part.length = positions.size();
    for (const std::size_t position : positions) {
      part.known.push_back(&plan[position]);
    }
  }
  return CheckSequence(key, parts, ranks, ranks);
}

// A pair, or blocks of several sizes.
bool HasPlaces(const CommSpec& spec) { return IsPointToPoint(spec.kind) || HasSplits(spec); }

}  // namespace

void CompleteSplits(std::vector<std::vector<PlannedTransfer>>& plans,
                    const RanksOfGroup& ranks_of_group) {
  ForEachCollective(plans, ranks_of_group, FillSplits);
}

bool DependOnPosition(const PlansOfSome& plans) {
  const std::vector<PlannedTransfer>& first = *plans.begin()->second;
  return std::ranges::any_of(plans, [&](const auto& entry) {
    const std::vector<PlannedTransfer>& plan = *entry.second;
    for (std::size_t i = 0; i < plan.size(); ++i) {
      const CommSpec& spec = plan[i].spec;
      // Different shares become splits (CompleteSplits).
      if (HasPlaces(spec) ||
          (HasShares(spec.kind) && i < first.size() && HasShares(first[i].spec.kind) &&
           ShareOf(spec) != ShareOf(first[i].spec))) {
        return true;
      }
    }
    return false;
  });
}

Status MatchAlike(const PlansOfSome& plans, std::int32_t group_size) {
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(group_size));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<std::int32_t> compared;
  std::map<SequenceKey, std::map<std::int32_t, MemberSequence>> sequences;
  for (const auto& [position, plan] : plans) {
    compared.push_back(position);
    for (const auto& [key, places] : SequencesOf(*plan, position)) {
      MemberSequence& part = sequences[key][position];
      part.length = places.size();
      for (const std::size_t place : places) {
        part.known.push_back(&(*plan)[place]);
      }
    }
  }
  std::vector<std::string> texts;
  for (const auto& [key, parts] : sequences) {
    if (auto mismatch = CheckSequence(key, parts, ranks, compared)) {
      texts.push_back(std::move(mismatch->text));
    }
  }
  return ReportMismatches(texts, texts.size());
}

Status MatchTransfers(const std::vector<std::vector<PlannedTransfer>>& plans,
                      const RanksOfGroup& ranks_of_group) {
  std::vector<std::string> texts;
  for (const auto& [key, by_rank] : SequencesOf(plans)) {
    if (auto mismatch = CheckOne(plans, key, by_rank, ranks_of_group(key.group))) {
      texts.push_back(std::move(mismatch->text));
    }
  }
  return ReportMismatches(texts, texts.size());
}

}  // namespace reprise
