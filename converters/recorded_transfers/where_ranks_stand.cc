#include "converters/recorded_transfers/where_ranks_stand.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "converters/recorded_transfers/match_members.h"
#include "core/text.h"

namespace reprise::recorded_transfers {
namespace {

constexpr std::size_t kMostLines = 20;

class StandingText {
 public:
  StandingText(std::span<const RecordedRank> ranks,
               const std::map<std::string, ProcessGroup>& groups)
      : ranks_(ranks), groups_(groups) {
    for (const RecordedRank& rank : ranks) {
      here_.insert(rank.rank);
    }
  }

  // Empty: every transfer of the sequence ended.
  [[nodiscard]] std::string LineOf(const MatchedSequence& sequence) const {
    std::size_t open = 0;
    const MatchedTransfer* first = nullptr;
    for (const MatchedTransfer& transfer : sequence.transfers) {
      const bool ended = std::ranges::all_of(transfer.parts, [&](const Part& part) {
        return SpecOf(part).state == TransferState::kCompleted;
      });
      open += ended ? 0 : 1;
      first = first == nullptr && !ended ? &transfer : first;
    }
    if (first == nullptr) {
      return {};
    }
    std::map<TransferState, std::set<std::int32_t>> by_state;
    for (const Part& part : first->parts) {
      by_state[SpecOf(part).state].insert(ranks_[part.rank].rank);
    }
    std::vector<std::string> parts;
    parts.reserve(by_state.size());
    for (const auto& [state, members] : by_state) {
      parts.push_back(fmt::format("{} on {}", Name(state), RanksText(members)));
    }
    std::string line = fmt::format("{}: {} did not end: {}", PlaceOf(sequence), NameOf(*first),
                                   fmt::join(parts, ", "));
    line += MissingText(sequence, *first);
    if (open > 1) {
      line += fmt::format("; {} more behind it", open - 1);
    }
    return line;
  }

 private:
  [[nodiscard]] const CommSpec& SpecOf(const Part& part) const {
    return ranks_[part.rank].transfers[part.transfer].spec;
  }
  static std::string RanksText(const std::set<std::int32_t>& ranks) {
    return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", NumbersText(ranks));
  }
  [[nodiscard]] std::string NameOf(const MatchedTransfer& transfer) const {
    const Part& part = transfer.parts.front();
    return fmt::format("{} {}", Name(SpecOf(part).kind),
                       SpecOf(part).sequence >= 0 ? SpecOf(part).sequence : transfer.number);
  }
  [[nodiscard]] std::string PlaceOf(const MatchedSequence& sequence) const {
    const auto group = groups_.find(sequence.key.group);
    std::string text = fmt::format("group {}", sequence.key.group);
    if (group != groups_.end() && !group->second.description.empty()) {
      text += fmt::format(" ({})", group->second.description);
    }
    return sequence.key.IsPointToPoint()
               ? fmt::format("{}, rank {} to rank {}", text, sequence.key.source,
                             sequence.key.destination)
               : text;
  }

  // The members that have not issued it, with their last one.
  [[nodiscard]] std::string MissingText(const MatchedSequence& sequence,
                                        const MatchedTransfer& transfer) const {
    std::set<std::int32_t> missing;
    if (sequence.key.IsPointToPoint()) {
      missing = {sequence.key.source, sequence.key.destination};
    } else if (const auto group = groups_.find(sequence.key.group); group != groups_.end()) {
      missing.insert(group->second.ranks.begin(), group->second.ranks.end());
    }
    for (const Part& part : transfer.parts) {
      missing.erase(ranks_[part.rank].rank);
    }
    std::map<std::int32_t, std::string> last;  // by rank
    for (const MatchedTransfer& other : sequence.transfers) {
      for (const Part& part : other.parts) {
        last[ranks_[part.rank].rank] =
            fmt::format("{} ({})", NameOf(other), Name(SpecOf(part).state));
      }
    }
    std::string text;
    std::map<std::string, std::set<std::int32_t>> by_last;
    for (const std::int32_t rank : missing) {
      if (here_.contains(rank)) {
        by_last[last[rank]].insert(rank);
      }
    }
    for (const auto& [name, ranks] : by_last) {
      const std::string_view verb = ranks.size() == 1 ? "has" : "have";
      text += name.empty() ? fmt::format("; {} {} recorded none", RanksText(ranks), verb)
                           : fmt::format("; {} {} not issued it: the last there is {}",
                                         RanksText(ranks), verb, name);
    }
    return text;
  }

  std::span<const RecordedRank> ranks_;
  const std::map<std::string, ProcessGroup>& groups_;
  std::set<std::int32_t> here_;  // ranks with a file
};

}  // namespace

std::vector<std::string> WhereRanksStand(std::span<RecordedRank> ranks,
                                         const std::map<std::string, ProcessGroup>& groups) {
  bool open = false;
  for (RecordedRank& rank : ranks) {
    for (const RecordedTransfer& transfer : rank.transfers) {
      if (transfer.spec.state != TransferState::kCompleted) {
        open = true;
        rank.diagnostics.Count(
            "transfer_not_completed",
            fmt::format("{}: {}: {}", rank.path, transfer.where, Name(transfer.spec.state)));
      }
    }
  }
  std::vector<std::string> lines;
  if (!open) {
    return lines;
  }
  const StandingText text(ranks, groups);
  std::size_t more = 0;
  for (const MatchedSequence& sequence : MatchMembers(ranks, groups)) {
    std::string line = text.LineOf(sequence);
    if (!line.empty() && lines.size() < kMostLines) {
      lines.push_back(std::move(line));
    } else {
      more += line.empty() ? 0 : 1;
    }
  }
  if (more > 0) {
    lines.push_back(fmt::format("{} more groups and pairs with transfers that did not end", more));
  }
  return lines;
}

}  // namespace reprise::recorded_transfers
