#include "predict/goal/transfers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "collectives/algorithms/algorithm.h"
#include "core/shown_text.h"
#include "replayer/plan/part.h"

namespace reprise {
namespace {

struct PlannedMember {
  std::int32_t rank = 0;
  Graph::Index node = 0;
  const CommSpec* spec = nullptr;  // as it would be carried out
};
using Matched = std::map<std::pair<SequenceKey, std::int64_t>, std::vector<PlannedMember>>;
using Fitted = std::vector<std::vector<PlannedTransfer>>;

// Why a transfer is no messages; empty: it may be.
std::string_view ReasonAgainst(const CommSpec& spec) {
  if (spec.outside) {
    return "with ranks outside";
  }
  if (spec.certainty == GroupCertainty::kUnknown) {
    return "of an unknown group";
  }
  const std::string_view lacks = LacksOf(spec);
  return lacks.empty()     ? ""
         : lacks == "kind" ? "of unknown kind"
         : lacks == "size" ? "of unknown size"
         : lacks == "root" ? "of unknown root"
         : lacks == "peer" ? "of unknown peer"
                           : "without all members";
}

Matched MatchMembers(const SimulatedSet& set, const Fitted& fitted, GoalReport& report) {
  Matched matched;
  for (std::size_t rank = 0; rank < set.graphs.size(); ++rank) {
    const Graph& graph = set.graphs[rank];
    std::map<std::uint64_t, const CommSpec*> of_node;
    for (const PlannedTransfer& transfer : fitted[rank]) {
      of_node[transfer.node_id] = &transfer.spec;
    }
    for (Graph::Index i = 0; i < graph.size(); ++i) {
      const CommSpec* const spec = graph.comm(i);
      if (spec == nullptr) {
        continue;
      }
      const auto number = static_cast<std::int32_t>(rank);
      if (const std::string_view reason = ReasonAgainst(*spec); !reason.empty()) {
        ++report.timed[std::string(reason)];
        continue;
      }
      const auto found = of_node.find(graph.id(i));
      matched[{SequenceOf(*spec, number), spec->index}].push_back(
          {number, i, found != of_node.end() ? found->second : spec});
    }
  }
  return matched;
}

Status Disagree(const CommSpec& spec, std::string_view how) {
  return BadInput(
      fmt::format("{} #{} of group '{}': {}; `reprise validate` shows what does not match. Convert "
                  "the captures "
                  "of one run, or leave the step out (--step)",
                  Name(spec.kind), spec.index, ShownText(spec.group), how));
}

// By channel, sender and receiver, the sizes in order.
using Sizes =
    std::vector<std::tuple<std::size_t, std::int32_t, std::int32_t, std::size_t, std::int64_t>>;

Sizes SizesOf(const GoalTransfer& transfer, bool of_sends) {
  Sizes sizes;
  for (const GoalMember& member : transfer) {
    std::size_t order = 0;  // kept among those of one pair
    for (std::size_t c = 0; c < member.channels.size(); ++c) {
      for (const auto& round : member.channels[c]) {
        for (const PlannedMessage& message : round) {
          if (message.sends == of_sends) {
            sizes.emplace_back(c, of_sends ? member.rank : message.peer,
                               of_sends ? message.peer : member.rank, order++, message.bytes);
          }
        }
      }
    }
  }
  std::ranges::sort(sizes);
  return sizes;
}

// Whether each message has its receive, of the same size.
Status CheckPairs(const GoalTransfer& transfer, const CommSpec& spec) {
  const Sizes sends = SizesOf(transfer, true);
  const Sizes recvs = SizesOf(transfer, false);
  for (std::size_t i = 0; i < std::max(sends.size(), recvs.size()); ++i) {
    const auto of = [&](const Sizes& sizes) {
      return i < sizes.size() ? std::tuple(std::get<0>(sizes[i]), std::get<1>(sizes[i]),
                                           std::get<2>(sizes[i]), std::get<4>(sizes[i]))
                              : std::tuple(std::size_t{0}, -1, -1, std::int64_t{0});
    };
    if (of(sends) != of(recvs)) {
      const auto& [channel, from, to, bytes] = i < sends.size() ? of(sends) : of(recvs);
      return Disagree(spec, fmt::format("ranks {} and {} do not agree on a message of {} bytes",
                                        from, to, bytes));
    }
  }
  return {};
}

std::uint64_t SendsOf(const GoalMember& member) {
  std::uint64_t sends = 0;
  for (const auto& rounds : member.channels) {
    for (const auto& round : rounds) {
      sends += static_cast<std::uint64_t>(std::ranges::count(round, true, &PlannedMessage::sends));
    }
  }
  return sends;
}

class Expansion {
 public:
  Expansion(const SimulatedSet& set, const AlgorithmChoices& choices, std::uint64_t most_messages,
            GoalReport& report)
      : set_(set), choices_(choices), most_messages_(most_messages), report_(report) {}

  Status Add(const std::vector<PlannedMember>& members) {
    const CommSpec& spec = *members.front().spec;
    return IsPointToPoint(spec.kind) ? AddPair(members, spec) : AddCollective(members, spec);
  }
  std::vector<GoalTransfer> Take() { return std::move(transfers_); }

 private:
  void Keep(std::string_view reason, std::size_t members) {
    report_.timed[std::string(reason)] += members;
  }

  Status AddPair(const std::vector<PlannedMember>& members, const CommSpec& spec) {
    if (members.size() == 1) {
      Keep("without the other side", 1);
      return {};
    }
    const auto of_kind = [&](CommKind kind) {
      return std::ranges::find(members, kind,
                               [](const PlannedMember& member) { return member.spec->kind; });
    };
    const auto send = of_kind(CommKind::kSend);
    const auto recv = of_kind(CommKind::kRecv);
    if (members.size() != 2 || send == members.end() || recv == members.end()) {
      return Disagree(spec, "it has more than one send and one receive");
    }
    const std::int64_t bytes = send->spec->in_bytes;
    if (bytes != recv->spec->out_bytes) {
      return Disagree(spec, fmt::format("rank {} sends {} bytes, rank {} receives {}", send->rank,
                                        bytes, recv->rank, recv->spec->out_bytes));
    }
    transfers_.push_back({{send->rank, send->node, {{{{true, recv->rank, bytes}}}}},
                          {recv->rank, recv->node, {{{{false, send->rank, bytes}}}}}});
    ++report_.expanded["send and recv"];
    return Count(1);
  }

  Status Count(std::uint64_t messages) {
    messages_ += messages;
    return messages_ <= most_messages_
               ? Status{}
               : UsageError(fmt::format(
                     "the schedule has more than {} messages: take one --step or fewer --ranks, "
                     "algorithms of fewer messages or larger chunks (--algo), or give --all",
                     most_messages_));
  }

  Status AddCollective(const std::vector<PlannedMember>& found, const CommSpec& spec) {
    const std::vector<std::int32_t> ranks = set_.mapping.RanksOf(spec.group);
    if (ranks.empty()) {
      Keep("of an unknown group", found.size());
      return {};
    }
    if (ranks.size() == 1) {
      Keep("of one rank", found.size());
      return {};
    }
    std::vector<PlannedMember> members(ranks.size());
    for (const PlannedMember& member : found) {
      const auto position = std::ranges::find(ranks, member.rank);
      if (position == ranks.end()) {
        return Disagree(spec, fmt::format("rank {} is not in the group", member.rank));
      }
      if (member.spec->kind != spec.kind) {
        return Disagree(spec,
                        fmt::format("on rank {} it is {}", member.rank, Name(member.spec->kind)));
      }
      members[static_cast<std::size_t>(position - ranks.begin())] = member;
    }
    if (std::ranges::any_of(members, [](const PlannedMember& m) { return m.spec == nullptr; })) {
      Keep("without all members", found.size());
      return {};
    }
    return Plan(ranks, members, spec);
  }

  Status Plan(const std::vector<std::int32_t>& ranks, const std::vector<PlannedMember>& members,
              const CommSpec& spec) {
    const std::optional<AlgorithmChoice> choice = ChoiceFor(choices_, spec, ranks);
    if (!choice || choice->algorithm == nullptr) {
      return UsageError(
          fmt::format("--algo: {} needs an algorithm made of messages (`reprise list algorithms`)",
                      Name(spec.kind)));
    }
    GoalTransfer transfer;
    for (std::size_t position = 0; position < ranks.size(); ++position) {
      const PlannedMember& member = members[position];
      REPRISE_ASSIGN(MemberMessages messages,
                     MessagesOfMember(*member.spec, ranks, static_cast<int>(position), *choice,
                                      2 * (most_messages_ - messages_)));
      transfer.push_back({member.rank, member.node, std::move(messages)});
      REPRISE_TRY(Count(SendsOf(transfer.back())));
    }
    REPRISE_TRY(CheckPairs(transfer, spec));
    ++report_.expanded[fmt::format("{} by {}", Name(spec.kind), choice->algorithm->name())];
    transfers_.push_back(std::move(transfer));
    return {};
  }

  const SimulatedSet& set_;
  const AlgorithmChoices& choices_;
  const std::uint64_t most_messages_;
  GoalReport& report_;
  std::uint64_t messages_ = 0;
  std::vector<GoalTransfer> transfers_;
};

}  // namespace

Result<AlgorithmChoices> GoalAlgorithms(std::span<const std::string> algo) {
  AlgorithmChoices choices;
  for (const std::string_view text :
       {"direct", "ring", "broadcast=tree", "reduce=tree", "barrier=recursive_doubling"}) {
    // Whole messages, one after the other.
    static_cast<void>(choices.Add(fmt::format("{},chunk=1TiB,channels=1", text)));  // known names
  }
  for (const std::string& text : algo) {
    REPRISE_TRY(choices.Add(text));
  }
  return choices;
}

Result<std::vector<GoalTransfer>> FindGoalTransfers(const SimulatedSet& set,
                                                    const AlgorithmChoices& choices,
                                                    std::uint64_t most_messages,
                                                    GoalReport& report) {
  Expansion expansion(set, choices, most_messages, report);
  const Fitted fitted = FittedTransfers(set.graphs, set.plans, set.mapping);
  for (const auto& [key, members] : MatchMembers(set, fitted, report)) {
    REPRISE_TRY(expansion.Add(members));
  }
  return expansion.Take();
}

}  // namespace reprise
