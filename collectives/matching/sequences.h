// Plans taken apart into the sequences in which order matters.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "collectives/communicator.h"
#include "core/comm.h"

namespace reprise {

// What one rank is about to do in one sequence.
struct PlannedTransfer {
  std::uint64_t node_id = 0;
  CommSpec spec;
  // It is not carried out: members only meet, and neither kind nor sizes need to agree.
  bool only_meets = false;
  bool operator==(const PlannedTransfer&) const = default;
};

// Of one rank: positions in its plan, in issue order; transfers to the outside are in no sequence.
[[nodiscard]] std::map<SequenceKey, std::vector<std::size_t>> SequencesOf(
    const std::vector<PlannedTransfer>& plan, std::int32_t rank);

// Of all ranks, `plans[r]` being rank r's: rank → positions in its plan.
using PositionsByRank = std::map<std::int32_t, std::vector<std::size_t>>;
[[nodiscard]] std::map<SequenceKey, PositionsByRank> SequencesOf(
    const std::vector<std::vector<PlannedTransfer>>& plans);

// Calls `visit` with the transfers of every collective that all members of its group have, in group
// order. Groups without ranks are left out.
void ForEachCollective(std::vector<std::vector<PlannedTransfer>>& plans,
                       const RanksOfGroup& ranks_of_group,
                       const std::function<void(const std::vector<PlannedTransfer*>&)>& visit);

}  // namespace reprise
