#include "converters/recorded_transfers/match_members.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

namespace reprise::recorded_transfers {
namespace {

// What members call a transfer: lane, number, and which of those with that number. By position: of
// lane −1.
using Identity = std::tuple<std::int32_t, std::int64_t, std::int64_t>;
// Of one rank, in its order.
struct RankSequence {
  std::size_t rank = 0;
  std::vector<std::size_t> transfers;
};

std::int64_t TimeOf(const RecordedTransfer& transfer) {
  return transfer.spec.issued_ns >= 0 ? transfer.spec.issued_ns : transfer.spec.noticed_end_ns;
}

class SequenceMatcher {
 public:
  SequenceMatcher(std::span<const RecordedRank> ranks, const std::vector<RankSequence>& sequences,
                  bool pair)
      : ranks_(ranks), sequences_(sequences), pair_(pair) {}

  std::vector<MatchedTransfer> Run() {
    std::map<Identity, std::size_t> known;
    std::vector<std::vector<std::size_t>> orders;  // by rank
    for (const RankSequence& sequence : sequences_) {
      auto& order = orders.emplace_back();
      std::map<std::pair<std::int32_t, std::int64_t>, std::int64_t> repeats;
      std::int64_t position = BeginOf(sequence);
      for (const std::size_t i : sequence.transfers) {
        const RecordedTransfer& transfer = ranks_[sequence.rank].transfers[i];
        const std::int64_t number = transfer.spec.sequence;
        const Identity identity =
            pair_ || number < 0
                ? Identity{-1, position, 0}
                : Identity{transfer.lane, number, repeats[{transfer.lane, number}]++};
        ++position;
        const auto [at, added] = known.try_emplace(identity, found_.size());
        if (added) {
          found_.push_back({.number = pair_ || number < 0 ? std::get<1>(identity) : number});
          first_ns_.push_back(TimeOf(transfer));
        }
        found_[at->second].parts.push_back({sequence.rank, i});
        first_ns_[at->second] = std::min(first_ns_[at->second], TimeOf(transfer));
        order.push_back(at->second);
      }
    }
    return InOrder(orders);
  }

 private:
  // The position of a rank's first transfer.
  [[nodiscard]] std::int64_t BeginOf(const RankSequence& sequence) const {
    const bool from_start = std::ranges::all_of(sequences_, [&](const RankSequence& other) {
      return ranks_[other.rank].from_start ||
             other.transfers.size() == sequences_.front().transfers.size();
    });
    return from_start ? 0 : -static_cast<std::int64_t>(sequence.transfers.size());
  }

  // Each rank's order holds; where ranks say nothing, the earlier first. Of orders that contradict
  // each other, the rest by time.
  std::vector<MatchedTransfer> InOrder(const std::vector<std::vector<std::size_t>>& orders) {
    std::vector<std::vector<std::size_t>> next(found_.size());
    std::vector<std::size_t> pending(found_.size(), 0);
    for (const auto& order : orders) {
      for (std::size_t k = 1; k < order.size(); ++k) {
        next[order[k - 1]].push_back(order[k]);
        ++pending[order[k]];
      }
    }
    using Ready = std::pair<std::int64_t, std::size_t>;
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    std::vector<bool> taken(found_.size(), false);
    std::vector<MatchedTransfer> out;
    const auto take_ready = [&] {
      while (!ready.empty()) {
        const std::size_t at = ready.top().second;
        ready.pop();
        if (taken[at]) {
          continue;
        }
        taken[at] = true;
        for (const std::size_t after : next[at]) {
          if (--pending[after] == 0) {
            ready.emplace(first_ns_[after], after);
          }
        }
        out.push_back(std::move(found_[at]));
      }
    };
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (pending[i] == 0) {
        ready.emplace(first_ns_[i], i);
      }
    }
    take_ready();
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (!taken[i]) {
        ready.emplace(first_ns_[i], i);
      }
    }
    next.assign(found_.size(), {});
    take_ready();
    return out;
  }

  std::span<const RecordedRank> ranks_;
  const std::vector<RankSequence>& sequences_;
  bool pair_;
  std::vector<MatchedTransfer> found_;
  std::vector<std::int64_t> first_ns_;  // parallel
};

}  // namespace

std::vector<MatchedSequence> MatchMembers(std::span<const RecordedRank> ranks,
                                          const std::map<std::string, ProcessGroup>& groups) {
  std::map<SequenceKey, std::vector<RankSequence>> sequences;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (std::size_t i = 0; i < ranks[r].transfers.size(); ++i) {
      const CommSpec& spec = ranks[r].transfers[i].spec;
      const bool pair = IsPointToPoint(spec.kind);
      if (spec.kind == CommKind::kUnknown || spec.group.empty() || (pair && spec.peer < 0)) {
        continue;
      }
      auto& of_key = sequences[SequenceOf(spec, ranks[r].rank)];
      if (of_key.empty() || of_key.back().rank != r) {
        of_key.push_back({.rank = r});
      }
      of_key.back().transfers.push_back(i);
    }
  }
  std::vector<MatchedSequence> out;
  for (const auto& [key, of_ranks] : sequences) {
    MatchedSequence& sequence = out.emplace_back();
    sequence.key = key;
    const auto group = groups.find(key.group);
    sequence.members = key.IsPointToPoint()    ? 2
                       : group == groups.end() ? 0
                                               : group->second.ranks.size();
    sequence.transfers = SequenceMatcher(ranks, of_ranks, key.IsPointToPoint()).Run();
  }
  return out;
}

}  // namespace reprise::recorded_transfers
