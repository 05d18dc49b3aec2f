#include "collectives/matching/sequences.h"

#include <algorithm>
#include <utility>

namespace reprise {

std::map<SequenceKey, std::vector<std::size_t>> SequencesOf(
    const std::vector<PlannedTransfer>& plan, std::int32_t rank) {
  std::map<SequenceKey, std::vector<std::size_t>> sequences;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (!plan[i].spec.outside) {  // else it matches no other
      sequences[SequenceOf(plan[i].spec, rank)].push_back(i);
    }
  }
  return sequences;
}

std::map<SequenceKey, PositionsByRank> SequencesOf(
    const std::vector<std::vector<PlannedTransfer>>& plans) {
  std::map<SequenceKey, PositionsByRank> sequences;
  for (std::size_t r = 0; r < plans.size(); ++r) {
    const auto rank = static_cast<std::int32_t>(r);
    for (auto& [key, positions] : SequencesOf(plans[r], rank)) {
      sequences[key][rank] = std::move(positions);
    }
  }
  return sequences;
}

void ForEachCollective(std::vector<std::vector<PlannedTransfer>>& plans,
                       const RanksOfGroup& ranks_of_group,
                       const std::function<void(const std::vector<PlannedTransfer*>&)>& visit) {
  for (const auto& [key, by_rank] : SequencesOf(plans)) {
    if (key.IsPointToPoint()) {
      continue;
    }
    const std::vector<std::int32_t> ranks = ranks_of_group(key.group);
    std::size_t length = ranks.empty() ? 0 : SIZE_MAX;
    for (const std::int32_t rank : ranks) {
      const auto it = by_rank.find(rank);
      length = std::min(length, it == by_rank.end() ? 0 : it->second.size());
    }
    for (std::size_t n = 0; n < length; ++n) {
      std::vector<PlannedTransfer*> members;
      members.reserve(ranks.size());
      for (const std::int32_t rank : ranks) {
        members.push_back(&plans[static_cast<std::size_t>(rank)][by_rank.at(rank)[n]]);
      }
      visit(members);
    }
  }
}

}  // namespace reprise
