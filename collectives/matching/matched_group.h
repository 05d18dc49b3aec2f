// One group's transfers on this rank while they are matched, and the reports of those that do not
// match. For MatchAcross.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "collectives/matching/findings.h"
#include "collectives/matching/group_rounds.h"
#include "collectives/matching/sequences.h"

namespace reprise {

struct MatchedGroup {
  const GroupMember* member = nullptr;
  std::vector<PlannedTransfer*> collectives;  // in issue order
  std::map<SequenceKey, std::vector<PlannedTransfer*>> pairs;

  // The same on all members, once the digests are compared:
  std::size_t shortest = 0, longest = 0;  // collectives of a member
  bool differs = false;                   // some collective may not match
  bool pairs_differ = false;              // some send or recv does not
  std::vector<std::size_t> uneven;        // collectives whose shares all members need
  std::optional<std::size_t> first_mismatch;
  bool only_blocks = false;  // it is one of blocks between two members
};

// One member of each group with a first mismatch reports it. Collective like GroupRounds' methods.
[[nodiscard]] Status MatchCollectives(GroupRounds& rounds, const std::vector<MatchedGroup>& groups,
                                      std::vector<Finding>& findings);
// The receiving rank of each pair that does not match reports it.
[[nodiscard]] Status MatchPairs(GroupRounds& rounds, const std::vector<MatchedGroup>& groups,
                                std::vector<Finding>& findings);

}  // namespace reprise
