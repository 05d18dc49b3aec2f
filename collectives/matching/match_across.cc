// The check with every rank holding only its own plan.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "collectives/matching/findings.h"
#include "collectives/matching/fingerprint.h"
#include "collectives/matching/matched_group.h"
#include "collectives/matching/matching.h"
#include "collectives/matching/sequence_check.h"
#include "collectives/matching/splits.h"

namespace reprise {
namespace {

using Words = GroupRounds::Words;

// Of all collectives here.
std::int64_t CollectivesDigest(const MatchedGroup& group) {
  Words words;
  for (const PlannedTransfer* planned : group.collectives) {
    words.insert(words.end(), {FingerprintOf(planned->spec), OperationOf(planned->spec)});
  }
  return HashOf(words);
}

std::int64_t PairClaimsOf(const MatchedGroup& group) {
  std::int64_t claims = 0;
  for (const auto& [key, transfers] : group.pairs) {
    for (std::size_t n = 0; n < transfers.size(); ++n) {
      claims ^= PairClaimOf(transfers[n]->spec, n, key.source, key.destination);
    }
  }
  return claims;
}

std::int64_t BlockClaimOf(const MatchedGroup& group, std::size_t n) {
  const GroupPlace& place = group.member->place;
  return ClaimsOf(group.collectives[n]->spec, n, place.ranks[static_cast<std::size_t>(place.rank)],
                  place.ranks);
}

class Matcher {
 public:
  Matcher(GroupRounds& rounds, const RanksOfGroup& ranks_of_group,
          std::vector<PlannedTransfer>& mine)
      : rounds_(rounds), ranks_of_group_(ranks_of_group), mine_(mine) {}

  Status Run() {
    Sort();
    REPRISE_TRY(CompareDigests());
    REPRISE_TRY(CompleteUneven());
    REPRISE_TRY(FindFirstMismatches());
    REPRISE_TRY(MatchCollectives(rounds_, groups_, findings_));
    REPRISE_TRY(MatchPairs(rounds_, groups_, findings_));
    CheckLayouts();
    REPRISE_ASSIGN(const Findings all,
                   GatherFindings(rounds_.communicator(), std::move(findings_)));
    return ReportMismatches(all.texts, all.sequences);
  }

 private:
  // Into groups; what this rank may not use is a finding and goes no further.
  void Sort() {
    const int world = rounds_.communicator().size();
    const std::int32_t me = rounds_.communicator().rank();
    for (const GroupMember& group : rounds_.groups()) {
      index_[group.id] = groups_.size();
      groups_.push_back({.member = &group});
    }
    for (auto& [key, positions] : SequencesOf(mine_, me)) {
      const std::vector<std::int32_t> ranks = ranks_of_group_(key.group);
      std::string wrong = Misplaced(key, me, mine_[positions.front()], ranks, world);
      const auto group = index_.find(key.group);
      if (wrong.empty() && group == index_.end()) {
        wrong = fmt::format("group '{}' has not been created on rank {}", key.group, me);
      }
      if (!wrong.empty()) {
        findings_.push_back({key, 0, 0, std::move(wrong)});
        continue;
      }
      MatchedGroup& matched = groups_[group->second];
      std::vector<PlannedTransfer*>& transfers =
          key.IsPointToPoint() ? matched.pairs[key] : matched.collectives;
      for (const std::size_t position : positions) {
        transfers.push_back(&mine_[position]);
      }
    }
  }

  Status CompareDigests() {
    std::vector<Words> most(groups_.size());
    std::vector<Words> claims(groups_.size());
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      const MatchedGroup& group = groups_[k];
      const std::int64_t length = static_cast<std::int64_t>(group.collectives.size());
      const std::int64_t digest = CollectivesDigest(group);
      most[k] = {digest, ~digest, length, ~length};
      claims[k] = {PairClaimsOf(group), 0};
      for (std::size_t n = 0; n < group.collectives.size(); ++n) {
        claims[k][1] ^= BlockClaimOf(group, n);
      }
    }
    REPRISE_TRY(rounds_.AllReduce(ReduceOp::kMax, most));
    REPRISE_TRY(rounds_.AllReduce(ReduceOp::kBxor, claims));
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      MatchedGroup& group = groups_[k];
      group.longest = static_cast<std::size_t>(most[k][2]);
      group.shortest = static_cast<std::size_t>(~most[k][3]);
      group.differs = most[k][0] != ~most[k][1] || most[k][2] != ~most[k][3] || claims[k][1] != 0;
      group.pairs_differ = claims[k][0] != 0;
    }
    return {};
  }

  // All members get the splits that only their owners have; some differences then disappear.
  Status CompleteUneven() {
    constexpr std::size_t kWords = 5;
    std::vector<Words> most(groups_.size());
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      for (std::size_t n = 0; groups_[k].differs && n < groups_[k].shortest; ++n) {
        const CommSpec& spec = groups_[k].collectives[n]->spec;
        const auto kind = static_cast<std::int64_t>(spec.kind);
        const std::int64_t share = HasShares(spec.kind) ? ShareOf(spec) : 0;
        const bool listed = HasShares(spec.kind) ? !ShareSplits(spec).empty() : HasSplits(spec);
        most[k].insert(most[k].end(), {kind, ~kind, share, ~share, listed ? 1 : 0});
      }
    }
    REPRISE_TRY(rounds_.AllReduce(ReduceOp::kMax, most));
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      for (std::size_t n = 0; n < most[k].size() / kWords; ++n) {
        const std::int64_t* at = &most[k][n * kWords];
        CommSpec& spec = groups_[k].collectives[n]->spec;
        const bool listed = at[4] != 0;
        if (at[0] != ~at[1]) {
          continue;  // different kinds: a mismatch
        }
        if (HasShares(spec.kind) && (listed || at[2] != ~at[3])) {
          groups_[k].uneven.push_back(n);
        } else if (spec.kind == CommKind::kAllToAll && listed) {
          ListEvenSplits(spec, static_cast<std::size_t>(groups_[k].member->place.size()));
        }
      }
    }
    return GatherShares();
  }

  Status GatherShares() {
    std::vector<Words> shares(groups_.size());
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      for (const std::size_t n : groups_[k].uneven) {
        shares[k].push_back(ShareOf(groups_[k].collectives[n]->spec));
      }
    }
    REPRISE_ASSIGN(const std::vector<Words> all, rounds_.AllGather(shares));
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      const std::size_t count = groups_[k].uneven.size();
      for (std::size_t i = 0; i < count; ++i) {
        std::vector<std::int64_t>& splits =
            ShareSplits(groups_[k].collectives[groups_[k].uneven[i]]->spec);
        const bool listed = !splits.empty();
        for (std::size_t at = i; !listed && at < all[k].size(); at += count) {
          splits.push_back(all[k][at]);
        }
      }
    }
    return {};
  }

  Status FindFirstMismatches() {
    constexpr std::size_t kWords = 4;
    constexpr std::int64_t kOperations = 256;
    std::vector<Words> most(groups_.size());
    std::vector<Words> claims(groups_.size());
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      const MatchedGroup& group = groups_[k];
      for (std::size_t n = 0; group.differs && n < group.shortest; ++n) {
        const CommSpec& spec = group.collectives[n]->spec;
        const std::int64_t fingerprint = FingerprintOf(spec);
        const std::int64_t operation = OperationOf(spec);
        most[k].insert(most[k].end(), {fingerprint, ~fingerprint, operation,
                                       operation == 0 ? 0 : kOperations - operation});
        claims[k].push_back(BlockClaimOf(group, n));
      }
    }
    REPRISE_TRY(rounds_.AllReduce(ReduceOp::kMax, most));
    REPRISE_TRY(rounds_.AllReduce(ReduceOp::kBxor, claims));
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      MatchedGroup& group = groups_[k];
      for (std::size_t n = 0; n < claims[k].size() && !group.first_mismatch; ++n) {
        const std::int64_t* at = &most[k][n * kWords];
        const bool same = at[0] == ~at[1] && (at[2] == 0 || at[2] == kOperations - at[3]);
        if (!same || claims[k][n] != 0) {
          group.first_mismatch = n;
          group.only_blocks = same;
        }
      }
      if (group.differs && !group.first_mismatch && group.shortest != group.longest) {
        group.first_mismatch = group.shortest;
      }
    }
    return {};
  }

  // Each rank checks its own; only the first of a sequence is reported.
  void CheckLayouts() {
    for (const MatchedGroup& group : groups_) {
      const GroupPlace& place = group.member->place;
      CheckLayouts({.group = group.member->id}, group.collectives, place, group.longest);
      for (const auto& [key, transfers] : group.pairs) {
        CheckLayouts(key, transfers, place, transfers.size());
      }
    }
  }
  void CheckLayouts(const SequenceKey& key, const std::vector<PlannedTransfer*>& transfers,
                    const GroupPlace& place, std::size_t longest) {
    for (std::size_t n = 0; n < transfers.size(); ++n) {
      std::string wrong = LayoutText(key, n, *transfers[n], place);
      if (!wrong.empty()) {
        // After a difference between members at the same position, and in members' order.
        const bool receives = transfers[n]->spec.kind == CommKind::kRecv;
        const int order = 1 + (key.IsPointToPoint() ? (receives ? 1 : 0) : place.rank);
        findings_.push_back({key, n, order, WithRest(n, std::move(wrong), longest).text});
        return;
      }
    }
  }

  GroupRounds& rounds_;
  const RanksOfGroup& ranks_of_group_;
  std::vector<PlannedTransfer>& mine_;
  std::map<std::string, std::size_t> index_;
  std::vector<MatchedGroup> groups_;  // as rounds_.groups()
  std::vector<Finding> findings_;
};

}  // namespace

Status MatchAcross(GroupRounds& rounds, const RanksOfGroup& ranks_of_group,
                   std::vector<PlannedTransfer>& mine) {
  return Matcher(rounds, ranks_of_group, mine).Run();
}

}  // namespace reprise
