// Which rank waits for which, as text.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/counted.h"
#include "replayer/engine/rank_state.h"

namespace reprise {
namespace {

using At = SequenceState::At;

// More rows do not help; the important ones come first.
constexpr std::size_t kMaxRanks = 100;
constexpr std::size_t kMaxNamed = 8;

std::string TenthsOfSeconds(std::int64_t ns) {
  return fmt::format("{:.1f} s", static_cast<double>(ns) * 1e-9);
}

std::string NamesOf(const std::vector<std::int32_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(ranks.size(), kMaxNamed); ++i) {
    text += fmt::format("{}{}", i > 0 ? ", " : "", ranks[i]);
  }
  return ranks.size() > kMaxNamed ? text + fmt::format(" and {} more", ranks.size() - kMaxNamed)
                                  : text;
}

std::string TransferName(const SequenceState& sequence) {
  if (IsPointToPoint(sequence.kind)) {
    return fmt::format("{} #{} {} rank {} of group {} (node {})", Name(sequence.kind),
                       sequence.index, sequence.kind == CommKind::kSend ? "to" : "from",
                       sequence.peer, sequence.group, sequence.node_id);
  }
  return fmt::format("{} #{} of group {} (node {})", Name(sequence.kind), sequence.index,
                     sequence.group, sequence.node_id);
}

class Standstill {
 public:
  Standstill(std::span<const RankState> states, const RanksOfGroup& ranks_of_group)
      : states_(states), ranks_of_group_(ranks_of_group) {}

  StandstillReport Report() {
    for (const RankState& state : states_) {
      for (const SequenceState& sequence : state.sequences) {
        if (sequence.at == At::kIssued) {
          for (const std::int32_t rank : Missing(state, sequence)) {
            waited_for_.try_emplace(rank, Waiter{state.rank, &sequence});
          }
        }
      }
    }
    return {Headline(), Table()};
  }

 private:
  struct Waiter {
    std::int32_t rank;
    const SequenceState* sequence;
  };

  [[nodiscard]] const RankState* StateOf(std::int32_t rank) const {
    const auto at = static_cast<std::size_t>(rank);
    return rank >= 0 && at < states_.size() ? &states_[at] : nullptr;
  }

  // Whether `other` has not yet started its side of what `rank` has issued. False where the answer
  // of `other` leaves it open.
  [[nodiscard]] bool IsMissing(const RankState& other, std::int32_t rank,
                               const SequenceState& issued) const {
    if (!other.answered) {
      return true;
    }
    const bool pair = IsPointToPoint(issued.kind);
    for (const SequenceState& theirs : other.sequences) {
      const bool same = theirs.group == issued.group && IsPointToPoint(theirs.kind) == pair &&
                        (!pair || (theirs.peer == rank && theirs.kind != issued.kind));
      if (same && theirs.index <= issued.index && theirs.at != At::kIssued) {
        return true;
      }
    }
    return false;
  }

  // A collective's ranks are the same for all its members, of which there may be thousands.
  const std::vector<std::int32_t>& Missing(const RankState& state, const SequenceState& issued) {
    const bool pair = IsPointToPoint(issued.kind);
    const auto [it, added] = missing_.try_emplace(
        {issued.group, issued.index, pair ? state.rank : -1, pair ? issued.peer : -1, issued.kind});
    std::vector<std::int32_t>& missing = it->second;
    if (!added) {
      return missing;
    }
    const std::vector<std::int32_t> members =
        pair ? std::vector<std::int32_t>{issued.peer} : ranks_of_group_(issued.group);
    for (const std::int32_t member : members) {
      const RankState* other = StateOf(member);
      if (member != state.rank && other != nullptr && IsMissing(*other, state.rank, issued)) {
        missing.push_back(member);
      }
    }
    return missing;
  }

  [[nodiscard]] std::string Headline() const {
    std::vector<std::int32_t> silent;
    for (const RankState& state : states_) {
      if (!state.answered) {
        silent.push_back(state.rank);
      }
    }
    if (!silent.empty()) {
      return fmt::format("{} {} not answer: stopped, stuck outside of the replay, or unreachable",
                         NamesOf(silent), silent.size() == 1 ? "does" : "do");
    }
    // A rank that others wait for and that waits for none is the cause.
    for (const auto& [rank, waiter] : waited_for_) {
      const RankState& state = *StateOf(rank);
      const bool waits = std::any_of(state.sequences.begin(), state.sequences.end(),
                                     [](const auto& one) { return one.at == At::kIssued; });
      if (!waits) {
        return fmt::format("rank {} has not come to {}, for which rank {} waits; {}", rank,
                           TransferName(*waiter.sequence), waiter.rank, Doing(state));
      }
    }
    if (!waited_for_.empty()) {
      return "ranks wait for each other";
    }
    for (const RankState& state : states_) {
      if (!state.at_hand.empty()) {
        return fmt::format("no rank waits for another; rank {}: {}", state.rank, Doing(state));
      }
    }
    return "no rank waits for another";
  }

  static std::string Doing(const RankState& state) {
    std::string text;
    for (const std::string& node : state.at_hand) {
      text += fmt::format("{}{}", text.empty() ? "it is in " : ", ", node);
    }
    if (state.nodes_left == 0) {
      return "it has nothing left in this iteration";
    }
    return text.empty() ? fmt::format("it completed {} last", state.last) : text;
  }

  std::string WhatOf(const RankState& state, const SequenceState& sequence) {
    switch (sequence.at) {
      case At::kReady:
        return fmt::format("ready, waits for the device: {}", TransferName(sequence));
      case At::kNotReached:
        return fmt::format("not reached: {}", TransferName(sequence));
      default:
        break;
    }
    const std::vector<std::int32_t>& missing = Missing(state, sequence);
    return fmt::format("waits for {} in {}, {} bytes",
                       missing.empty() ? "the transport" : NamesOf(missing), TransferName(sequence),
                       sequence.bytes);
  }

  void AddRows(const RankState& state, std::string& text) {
    if (!state.answered) {
      text += fmt::format("\n{:>5}  no answer", state.rank);
      return;
    }
    const std::string place =
        state.nodes_left == 0
            ? fmt::format("iteration {} is over", state.iteration)
            : fmt::format("{} nodes left of iteration {}", state.nodes_left, state.iteration);
    text += fmt::format("\n{:>5}  {}: {}; nothing completed for {} after {}", state.rank,
                        state.host, place, TenthsOfSeconds(state.quiet_ns),
                        state.last.empty() ? "the beginning" : state.last);
    for (const std::string& node : state.at_hand) {
      text += fmt::format("\n         in {}", node);
    }
    for (const SequenceState& sequence : state.sequences) {
      text += fmt::format("\n         {}", WhatOf(state, sequence));
    }
    if (state.sequences_left_out > 0) {
      text +=
          fmt::format("\n         and {} more sequences of transfers", state.sequences_left_out);
    }
  }

  std::string Table() {
    std::vector<const RankState*> rows;
    for (const RankState& state : states_) {
      rows.push_back(&state);
    }
    if (rows.size() > kMaxRanks) {
      std::stable_partition(rows.begin(), rows.end(), [this](const RankState* state) {
        return !state->answered || waited_for_.contains(state->rank);
      });
    }
    std::string text = " rank  where it stands, and what it waits for";
    for (std::size_t i = 0; i < std::min(rows.size(), kMaxRanks); ++i) {
      AddRows(*rows[i], text);
    }
    return rows.size() > kMaxRanks
               ? text + "\n       and " + Counted(rows.size() - kMaxRanks, "more rank")
               : text;
  }

  std::span<const RankState> states_;
  const RanksOfGroup& ranks_of_group_;
  std::map<std::int32_t, Waiter> waited_for_;  // by the missing rank: the first that waits
  using Meeting = std::tuple<std::string, std::int64_t, std::int32_t, std::int32_t, CommKind>;
  std::map<Meeting, std::vector<std::int32_t>> missing_;
};

}  // namespace

StandstillReport ReportStandstill(std::span<const RankState> states,
                                  const RanksOfGroup& ranks_of_group) {
  return Standstill(states, ranks_of_group).Report();
}

}  // namespace reprise
