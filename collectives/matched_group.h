// One group's transfers on this rank while they are matched, and the reports of those that do not
// match. For MatchAcross.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "collectives/findings.h"
#include "collectives/group_rounds.h"
#include "collectives/sequence_check.h"
#include "collectives/sequences.h"

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

  // Of all collectives here.
  [[nodiscard]] std::int64_t Digest() const;
  [[nodiscard]] std::int64_t PairClaims() const;
  [[nodiscard]] std::int64_t BlockClaim(std::size_t n) const;
  [[nodiscard]] std::int64_t BlockClaims() const;  // xor over all
};

// One member of each group with a first mismatch reports it. Collective like GroupRounds' methods.
[[nodiscard]] Status MatchCollectives(GroupRounds& rounds, const std::vector<MatchedGroup>& groups,
                                      std::vector<Finding>& findings);
// The receiving rank of each pair that does not match reports it.
[[nodiscard]] Status MatchPairs(GroupRounds& rounds, const std::vector<MatchedGroup>& groups,
                                std::vector<Finding>& findings);

}  // namespace reprise
