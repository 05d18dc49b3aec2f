// The check before a replay: what would hang or corrupt is refused, and explained.
#include <fmt/format.h>

#include <algorithm>

#include "collectives/communicator.h"
#include "collectives/compare.h"
#include "collectives/layout.h"
#include "collectives/sequences.h"

namespace reprise {

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

Sequences::Sequences(const std::vector<std::vector<PlannedTransfer>>& plans) {
  for (std::size_t rank = 0; rank < plans.size(); ++rank) {
    const auto global = static_cast<std::int32_t>(rank);
    for (std::size_t i = 0; i < plans[rank].size(); ++i) {
      if (plans[rank][i].spec.outside) {
        continue;  // meets nobody
      }
      sequences_[SequenceKeyOf(plans[rank][i].spec, global)][global].push_back(i);
    }
  }
}

namespace {

constexpr std::size_t kMostMessages = 20;  // sequences told; the rest is counted

using Plans = std::vector<std::vector<PlannedTransfer>>;

// One sequence with everything needed to judge it.
class SequenceCheck {
 public:
  SequenceCheck(const Plans& plans, const SequenceKey& key, const Sequences::ByRank& by_rank,
                const std::vector<std::int32_t>& ranks)
      : plans_(plans), key_(key), by_rank_(by_rank), ranks_(ranks) {}

  // Empty if all is well; else the first mismatch, and how many positions follow it.
  [[nodiscard]] std::string Run() const {
    if (ranks_.empty()) {
      return fmt::format("group '{}' is unknown; node {} of rank {} uses it", key_.group,
                         First(by_rank_.begin()->first).node_id, by_rank_.begin()->first);
    }
    const std::vector<std::int32_t> members = Members();
    for (const auto& [rank, positions] : by_rank_) {
      if (std::find(members.begin(), members.end(), rank) == members.end()) {
        return fmt::format("rank {} is not in group '{}' but node {} is its {}", rank, key_.group,
                           First(rank).node_id, Name(First(rank).spec.kind));
      }
    }
    std::size_t longest = 0;
    for (const std::int32_t member : members) {
      longest = std::max(longest, Length(member));
    }
    for (std::size_t n = 0; n < longest; ++n) {
      if (const std::string what = CheckPosition(members, n); !what.empty()) {
        const std::size_t more = longest - n - 1;
        return more == 0 ? what
                         : fmt::format("{} (the {} that follow in this sequence are not compared)",
                                       what, more);
      }
    }
    return {};
  }

 private:
  [[nodiscard]] std::vector<std::int32_t> Members() const {
    if (key_.IsPointToPoint()) {
      return {key_.source, key_.destination};
    }
    return ranks_;
  }
  [[nodiscard]] std::size_t Length(std::int32_t rank) const {
    const auto it = by_rank_.find(rank);
    return it == by_rank_.end() ? 0 : it->second.size();
  }
  [[nodiscard]] const PlannedTransfer& At(std::int32_t rank, std::size_t n) const {
    return plans_[static_cast<std::size_t>(rank)][by_rank_.at(rank)[n]];
  }
  [[nodiscard]] const PlannedTransfer& First(std::int32_t rank) const { return At(rank, 0); }

  // "rank 0 node 17 (all_reduce of 4096 bytes float32)"
  [[nodiscard]] std::string Show(std::int32_t rank, std::size_t n) const {
    const PlannedTransfer& planned = At(rank, n);
    return fmt::format(
        "rank {} node {} ({} of {} bytes {})", rank, planned.node_id, Name(planned.spec.kind),
        std::max(planned.spec.in_bytes, planned.spec.out_bytes), Name(planned.spec.dtype));
  }
  [[nodiscard]] std::string Where(std::size_t n) const {
    if (key_.IsPointToPoint()) {
      return fmt::format("group '{}', from rank {} to rank {}, transfer {}", key_.group,
                         key_.source, key_.destination, n);
    }
    return fmt::format("group '{}', collective {}", key_.group, n);
  }

  [[nodiscard]] std::string CheckPosition(const std::vector<std::int32_t>& members,
                                          std::size_t n) const {
    std::int32_t reference = -1;
    for (const std::int32_t member : members) {
      reference = reference < 0 && n < Length(member) ? member : reference;
    }
    for (const std::int32_t member : members) {
      if (n >= Length(member)) {
        return Missing(reference, member, n);
      }
    }
    // Agreement of all with one is agreement of all pairs, except for blocks between pairs.
    const bool pairwise = At(reference, n).spec.kind == CommKind::kAllToAll;
    for (std::size_t i = 0; i < (pairwise ? members.size() : 1); ++i) {
      for (std::size_t j = pairwise ? i : i + 1; j < members.size(); ++j) {
        const std::string what = DifferenceBetween(At(members[i], n).spec, members[i],
                                                   At(members[j], n).spec, members[j], ranks_);
        if (!what.empty()) {
          return fmt::format("{}: {}: {} against {}{}", Where(n), what, Show(members[i], n),
                             Show(members[j], n), OrderHint(members[i], members[j], n));
        }
      }
    }
    return CheckEach(members, n);
  }

  [[nodiscard]] std::string CheckEach(const std::vector<std::int32_t>& members,
                                      std::size_t n) const {
    for (const std::int32_t member : members) {
      const GroupPlace place{.ranks = ranks_, .rank = PositionOf(member, ranks_)};
      if (const auto layout = LayoutOf(At(member, n).spec, place); !layout) {
        return fmt::format("{}: {}: {}", Where(n), Show(member, n), layout.error().message);
      }
    }
    return {};
  }

  [[nodiscard]] std::string Missing(std::int32_t has, std::int32_t lacks, std::size_t n) const {
    const std::string_view partner =
        !key_.IsPointToPoint() ? "counterpart" : (lacks == key_.source ? "send" : "recv");
    return fmt::format("{}: {} has no {} on rank {}, which has {} of them", Where(n), Show(has, n),
                       partner, lacks, Length(lacks));
  }

  // Two transfers in the wrong order look like two mismatches; say which it is.
  [[nodiscard]] std::string OrderHint(std::int32_t a, std::int32_t b, std::size_t n) const {
    constexpr std::size_t kLookAhead = 1000;
    const auto find = [&](std::int32_t rank, std::int32_t other) {
      const std::size_t end = std::min(Length(other), n + kLookAhead);
      for (std::size_t m = n + 1; m < end; ++m) {
        if (DifferenceBetween(At(rank, n).spec, rank, At(other, m).spec, other, ranks_).empty()) {
          return m;
        }
      }
      return std::size_t{0};
    };
    const std::size_t in_b = find(a, b);
    const std::size_t in_a = find(b, a);
    if (in_a != 0 && in_b != 0) {
      return fmt::format("; the order differs: each has the other's at {} and {}", in_b, in_a);
    }
    if (in_a != 0) {
      return fmt::format("; rank {} fits again from {} on: one too many there?", a, in_a);
    }
    if (in_b != 0) {
      return fmt::format("; rank {} fits again from {} on: one too many there?", b, in_b);
    }
    return {};
  }

  const Plans& plans_;
  const SequenceKey& key_;
  const Sequences::ByRank& by_rank_;
  const std::vector<std::int32_t>& ranks_;
};

}  // namespace

Status MatchTransfers(const Plans& plans, const RanksOfGroup& ranks_of_group) {
  const auto size = static_cast<std::int32_t>(plans.size());
  std::string messages;
  std::size_t mismatches = 0;
  const auto report = [&](const std::string& message) {
    if (mismatches++ < kMostMessages) {
      messages += (messages.empty() ? "" : "\n") + message;
    }
  };
  const Sequences sequences(plans);
  for (const auto& [key, by_rank] : sequences.all()) {
    const std::vector<std::int32_t> ranks = ranks_of_group(key.group);
    const bool fits = std::all_of(ranks.begin(), ranks.end(),
                                  [size](std::int32_t rank) { return rank >= 0 && rank < size; });
    if (!fits) {
      report(fmt::format("group '{}' names ranks beyond the {} of this run", key.group, size));
      continue;
    }
    const auto& [rank, positions] = *by_rank.begin();
    if (key.IsPointToPoint() &&
        (PositionOf(key.source, ranks) < 0 || PositionOf(key.destination, ranks) < 0) &&
        !ranks.empty()) {
      report(
          fmt::format("group '{}': node {} of rank {} goes from rank {} to rank {}, which are "
                      "not both members",
                      key.group, plans[static_cast<std::size_t>(rank)][positions.front()].node_id,
                      rank, key.source, key.destination));
      continue;
    }
    if (const std::string what = SequenceCheck(plans, key, by_rank, ranks).Run(); !what.empty()) {
      report(what);
    }
  }
  if (mismatches == 0) {
    return {};
  }
  if (mismatches > kMostMessages) {
    messages +=
        fmt::format("\n… and {} more sequences that do not match", mismatches - kMostMessages);
  }
  return BadInput("the ranks' transfers do not match:\n" + messages);
}

}  // namespace reprise
