// The rules of group_sizes.h, where each rank has only its own plan.
#include <algorithm>
#include <map>
#include <optional>

#include "collectives/byte_text.h"
#include "collectives/matching/findings.h"
#include "collectives/matching/fingerprint.h"
#include "collectives/matching/splits.h"
#include "replayer/plan/group_sizes.h"

namespace reprise {
namespace {

using Words = GroupRounds::Words;
constexpr std::int64_t kNone = INT64_MAX;

// Collectives of each group of `rounds`, in issue order.
template <typename Plan>
auto CollectivesOf(const GroupRounds& rounds, Plan& mine) {
  std::vector<std::vector<decltype(mine.data())>> transfers(rounds.groups().size());
  const auto sequences = SequencesOf(mine, rounds.communicator().rank());
  for (std::size_t k = 0; k < transfers.size(); ++k) {
    const auto it = sequences.find({.group = rounds.groups()[k].id});
    if (it != sequences.end()) {
      for (const std::size_t position : it->second) {
        transfers[k].push_back(&mine[position]);
      }
    }
  }
  return transfers;
}

}  // namespace

Status FitSizesAcross(GroupRounds& rounds, const RankMapping& mapping,
                      std::vector<PlannedTransfer>& mine) {
  constexpr std::size_t kWords = 5;
  const std::int32_t me = rounds.communicator().rank();
  const auto transfers = CollectivesOf(rounds, mine);
  const std::size_t groups = transfers.size();
  std::vector<const MappedGroup*> changed(groups);
  std::vector<Words> shortest(groups);
  for (std::size_t k = 0; k < groups; ++k) {
    changed[k] = ChangedGroup(mapping, rounds.groups()[k].id);
    if (changed[k] != nullptr) {
      shortest[k] = {static_cast<std::int64_t>(transfers[k].size())};
    }
  }
  REPRISE_TRY(rounds.AllReduce(ReduceOp::kMin, shortest));
  std::vector<Words> most(groups);
  for (std::size_t k = 0; k < groups; ++k) {
    for (std::size_t n = 0; changed[k] != nullptr && n < static_cast<std::size_t>(shortest[k][0]);
         ++n) {
      const CommSpec& spec = transfers[k][n]->spec;
      const auto kind = static_cast<std::int64_t>(spec.kind);
      const bool uneven = GroupFit(mapping, *changed[k]).SaysUneven(spec, spec.root == me);
      const std::int64_t share = HasShares(spec.kind) && !mapping.one_trace ? ShareBytes(spec) : 0;
      most[k].insert(most[k].end(), {kind, ~kind, share, ~share, uneven ? 1 : 0});
    }
  }
  REPRISE_TRY(rounds.AllReduce(ReduceOp::kMax, most));
  std::vector<Words> whole_bytes(groups);
  for (std::size_t k = 0; k < groups; ++k) {
    for (std::size_t at = 0; at < most[k].size(); at += kWords) {
      const bool same_kind = most[k][at] == ~most[k][at + 1];
      const bool uneven = most[k][at + 4] != 0 || most[k][at + 2] != ~most[k][at + 3];
      CommSpec& spec = transfers[k][at / kWords]->spec;
      if (same_kind) {  // else a mismatch, which matching reports
        GroupFit(mapping, *changed[k]).FitOwn(spec, spec.root == me, uneven);
      }
      whole_bytes[k].push_back(ShareBytes(spec));
    }
  }
  REPRISE_TRY(rounds.AllReduce(ReduceOp::kSum, whole_bytes));
  for (std::size_t k = 0; k < groups; ++k) {
    for (std::size_t n = 0; n < whole_bytes[k].size(); ++n) {
      CommSpec& spec = transfers[k][n]->spec;
      if (most[k][n * kWords] == ~most[k][n * kWords + 1]) {
        GroupFit::FitWhole(spec, spec.root == me, whole_bytes[k][n]);
      }
    }
  }
  return {};
}

namespace {

// Which transfers a rank replays of one sequence, and where.
using ByIndex = std::map<std::int64_t, const PlannedTransfer*>;

class SameTransfers {
 public:
  SameTransfers(GroupRounds& rounds, const std::vector<PlannedTransfer>& mine)
      : rounds_(rounds), size_(rounds.groups().size()), collectives_(size_), pairs_(size_) {
    const auto sequences = SequencesOf(mine, rounds.communicator().rank());
    for (std::size_t k = 0; k < size_; ++k) {
      for (auto it = sequences.lower_bound({.group = rounds.groups()[k].id});
           it != sequences.end() && it->first.group == rounds.groups()[k].id; ++it) {
        ByIndex& there = it->first.IsPointToPoint() ? pairs_[k][it->first] : collectives_[k];
        for (const std::size_t position : it->second) {
          there[mine[position].spec.index] = &mine[position];
        }
      }
    }
  }

  Status Run() {
    REPRISE_TRY(CompareDigests());
    REPRISE_TRY(MatchCollectives());
    REPRISE_TRY(MatchPairs());
    REPRISE_ASSIGN(const Findings all,
                   GatherFindings(rounds_.communicator(), std::move(findings_)));
    return all.texts.empty() ? Status{} : BadInput(all.texts.front());
  }

 private:
  static Words Indices(const ByIndex& there) {
    Words indices;
    for (const auto& [index, planned] : there) {
      indices.push_back(index);
    }
    return indices;
  }

  Status CompareDigests() {
    std::vector<Words> most(size_);
    std::vector<Words> claims(size_);
    for (std::size_t k = 0; k < size_; ++k) {
      const std::int64_t digest = HashOf(Indices(collectives_[k]));
      const auto length = static_cast<std::int64_t>(collectives_[k].size());
      most[k] = {digest, ~digest, ~length};
      claims[k] = {0};
      for (const auto& [key, there] : pairs_[k]) {
        for (const auto& [index, planned] : there) {
          const std::int64_t words[] = {index, key.source, key.destination};
          claims[k][0] ^= HashOf(words);
        }
      }
    }
    REPRISE_TRY(rounds_.AllReduce(ReduceOp::kMax, most));
    REPRISE_TRY(rounds_.AllReduce(ReduceOp::kBxor, claims));
    for (std::size_t k = 0; k < size_; ++k) {
      differs_.push_back(most[k][0] != ~most[k][1]);
      pairs_differ_.push_back(claims[k][0] != 0);
      shortest_.push_back(static_cast<std::size_t>(~most[k][2]));
    }
    return {};
  }

  // The lowest index that some members lack.
  Status MatchCollectives() {
    std::vector<Words> most(size_);
    for (std::size_t k = 0; k < size_; ++k) {
      const Words indices = Indices(collectives_[k]);
      for (std::size_t i = 0; differs_[k] && i <= shortest_[k]; ++i) {
        const std::int64_t index = i < indices.size() ? indices[i] : kNone;
        most[k].insert(most[k].end(), {index, ~index});
      }
    }
    REPRISE_TRY(rounds_.AllReduce(ReduceOp::kMax, most));
    std::vector<Words> rows(size_);
    std::vector<std::int64_t> lacking(size_, kNone);
    for (std::size_t k = 0; k < size_; ++k) {
      for (std::size_t i = 0; i < most[k].size() && lacking[k] == kNone; i += 2) {
        lacking[k] = most[k][i] == ~most[k][i + 1] ? kNone : ~most[k][i + 1];
      }
      if (differs_[k]) {
        rows[k] = {collectives_[k].contains(lacking[k]) ? 1 : 0};
      }
    }
    REPRISE_ASSIGN(const std::vector<Words> all, rounds_.AllGather(rows));
    for (std::size_t k = 0; k < size_; ++k) {
      const auto has = std::find(all[k].begin(), all[k].end(), 1);
      const auto lacks = std::find(all[k].begin(), all[k].end(), 0);
      const GroupMember& group = rounds_.groups()[k];
      if (has != all[k].end() && lacks != all[k].end() &&
          has - all[k].begin() == group.place.rank) {
        const auto rank = group.place.ranks[static_cast<std::size_t>(lacks - all[k].begin())];
        AddFinding({.group = group.id}, lacking[k], rounds_.communicator().rank(),
                   *collectives_[k].at(lacking[k]), rank);
      }
    }
    return {};
  }

  // The two ranks of each pair exchange which transfers they have. Each reports the first that it
  // has and the other lacks.
  Status MatchPairs() {
    std::vector<GroupRounds::Parcels> parcels(size_);
    for (std::size_t k = 0; k < size_; ++k) {
      for (const auto& [key, there] : pairs_[k]) {
        const int other = PositionOfOther(k, key);
        if (pairs_differ_[k] && other >= 0) {
          const bool sends = key.source == rounds_.communicator().rank();
          ByteWriter writer;
          writer.Put(sends, Indices(there));
          parcels[k][other] += writer.Take();
        }
      }
    }
    REPRISE_ASSIGN(auto arrived, rounds_.Deliver(parcels, pairs_differ_));
    for (std::size_t k = 0; k < size_; ++k) {
      for (const auto& [key, there] : pairs_[k]) {
        const int other = PositionOfOther(k, key);
        if (pairs_differ_[k] && other >= 0) {
          MatchPair(key, there, arrived[k][other]);
        }
      }
    }
    return {};
  }

  [[nodiscard]] int PositionOfOther(std::size_t k, const SequenceKey& key) const {
    const GroupPlace& place = rounds_.groups()[k].place;
    const std::int32_t me = rounds_.communicator().rank();
    const std::int32_t other = key.source == me ? key.destination : key.source;
    const auto at = std::find(place.ranks.begin(), place.ranks.end(), other);
    return other == me || at == place.ranks.end() ? -1 : static_cast<int>(at - place.ranks.begin());
  }

  void MatchPair(const SequenceKey& key, const ByIndex& mine, const std::string& text) {
    const std::int32_t me = rounds_.communicator().rank();
    const std::int32_t other = key.source == me ? key.destination : key.source;
    Words theirs;
    for (ByteReader reader(text); !reader.AtEnd();) {
      const bool they_send = reader.Get<bool>();
      const Words indices = reader.Get<Words>();
      theirs = they_send == (key.source == other) ? indices : theirs;
    }
    for (const auto& [index, planned] : mine) {
      if (!std::binary_search(theirs.begin(), theirs.end(), index)) {
        AddFinding(key, index, me, *planned, other);
        return;
      }
    }
  }

  void AddFinding(const SequenceKey& key, std::int64_t index, std::int32_t rank,
                  const PlannedTransfer& planned, std::int32_t lacks_rank) {
    findings_.push_back(
        {key, static_cast<std::uint64_t>(index), 0,
         OneSided(key.group, planned.spec.kind, index, rank, planned.node_id, lacks_rank)});
  }

  GroupRounds& rounds_;
  std::size_t size_;
  std::vector<ByIndex> collectives_;  // by group, as the rest
  std::vector<std::map<SequenceKey, ByIndex>> pairs_;
  std::vector<bool> differs_, pairs_differ_;
  std::vector<std::size_t> shortest_;
  std::vector<Finding> findings_;
};

}  // namespace

Status CheckSameTransfersAcross(GroupRounds& rounds, const std::vector<PlannedTransfer>& mine) {
  return SameTransfers(rounds, mine).Run();
}

}  // namespace reprise
