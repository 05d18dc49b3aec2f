#include "converters/astra_sim/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <set>
#include <tuple>

namespace reprise::astra_sim {
namespace {

using Index = Graph::Index;
using SequencePlace = std::pair<SequenceKey, std::int64_t>;

std::size_t MembersOf(const SequenceKey& key, const std::map<std::string, ProcessGroup>& groups,
                      std::size_t ranks) {
  if (key.IsPointToPoint()) {
    return 2;
  }
  const auto group = groups.find(key.group);
  if (group != groups.end()) {
    return group->second.ranks.size();
  }
  return key.group.empty() || key.group == "0" ? ranks : 0;
}

// Of one kind, or a send and its receive, each on another rank.
bool FitTogether(std::span<const Graph> graphs, const std::vector<Match::Member>& members) {
  std::set<std::size_t> ranks;
  std::set<CommKind> kinds;
  for (const Match::Member& member : members) {
    ranks.insert(member.rank);
    kinds.insert(graphs[member.rank].comm(member.node)->kind);
  }
  return ranks.size() == members.size() &&
         (kinds.size() == 1 || kinds == std::set{CommKind::kSend, CommKind::kRecv});
}

Match MakeMatch(std::span<const Graph> graphs, const SequencePlace& place,
                std::vector<Match::Member> members) {
  Match match{.members = std::move(members), .index = place.second};
  for (const Match::Member& member : match.members) {
    const CommSpec& spec = *graphs[member.rank].comm(member.node);
    match.kind = IsPointToPoint(spec.kind) ? CommKind::kSend : spec.kind;
    match.group = spec.group;
    match.size_bytes = std::max(match.size_bytes, ContributedBytes(spec));
  }
  return match;
}

// Nodes of all ranks become ready as their dependencies end; a match ends when it is ready on all
// members.
class Walk {
 public:
  Walk(std::span<const Graph> graphs, const SetTransfers& transfers,
       std::span<const std::vector<std::vector<Index>>> more_deps)
      : graphs_(graphs), transfers_(transfers), order_(graphs.size()), waits_(graphs.size()) {
    for (std::size_t rank = 0; rank < graphs.size(); ++rank) {
      const Graph& graph = graphs[rank];
      auto& followers = followers_.emplace_back(graph.size());
      waits_[rank].resize(graph.size());
      for (Index i = 0; i < graph.size(); ++i) {
        const std::vector<Index>& more = more_deps[rank][i];
        waits_[rank][i] = static_cast<std::uint32_t>(graph.deps(i).size() + more.size());
        for (const Index dep : graph.deps(i)) {
          followers[dep].push_back(i);
        }
        for (const Index dep : more) {
          followers[dep].push_back(i);
        }
      }
    }
    for (const Match& match : transfers.matches) {
      missing_.push_back(match.members.size());
    }
  }

  Result<std::vector<std::vector<Index>>> Run() {
    std::size_t nodes = 0;
    for (std::size_t rank = 0; rank < graphs_.size(); ++rank) {
      nodes += graphs_[rank].size();
      for (Index i = 0; i < graphs_[rank].size(); ++i) {
        if (waits_[rank][i] == 0) {
          Push(rank, i);
        }
      }
    }
    while (!ready_.empty()) {
      const auto [start, rank, node] = ready_.top();
      ready_.pop();
      Take(rank, node);
    }
    if (finished_ < nodes) {
      return Circle();
    }
    return std::move(order_);
  }

 private:
  using Ready = std::tuple<std::int64_t, std::size_t, Index>;

  void Push(std::size_t rank, Index node) {
    const TraceMetadata& metadata = graphs_[rank].metadata();
    ready_.emplace(graphs_[rank].start_ns(node) + metadata.base_ns + metadata.clock_offset_ns, rank,
                   node);
  }

  void Take(std::size_t rank, Index node) {
    const std::int32_t number = transfers_.match_of[rank][node];
    if (number == SetTransfers::kNone) {
      Finish(rank, node);
      return;
    }
    const Match& match = transfers_.matches[static_cast<std::size_t>(number)];
    const bool send = graphs_[rank].comm(node)->kind == CommKind::kSend;
    if (send) {
      order_[rank].push_back(node);
    }
    if (--missing_[static_cast<std::size_t>(number)] > 0) {
      if (send) {  // it does not wait for its receive
        Finish(rank, node);
      } else {
        held_.insert({rank, node});
      }
      return;
    }
    for (const Match::Member& member : match.members) {
      const CommKind kind = graphs_[member.rank].comm(member.node)->kind;
      const bool last = member.rank == rank && member.node == node;
      if (!IsPointToPoint(kind)) {
        order_[member.rank].push_back(member.node);
      }
      if (last || held_.erase({member.rank, member.node}) > 0) {
        Finish(member.rank, member.node);
      }
    }
  }

  void Finish(std::size_t rank, Index node) {
    ++finished_;
    for (const Index after : followers_[rank][node]) {
      if (--waits_[rank][after] == 0) {
        Push(rank, after);
      }
    }
  }

  [[nodiscard]] tl::unexpected<Error> Circle() const {
    std::string where;
    for (const auto& [rank, node] : held_) {
      const CommSpec& spec = *graphs_[rank].comm(node);
      where += fmt::format("\n  rank {}: node {} ({}), {} {} of group '{}'",
                           graphs_[rank].metadata().rank, graphs_[rank].id(node),
                           graphs_[rank].name(node), Name(spec.kind), spec.index, spec.group);
    }
    return BadInput(fmt::format(
        "the ranks wait for each other in a circle, so that these transfers never end; `reprise "
        "validate` shows whether the ranks agree:{}",
        where));
  }

  std::span<const Graph> graphs_;
  const SetTransfers& transfers_;
  std::vector<std::vector<Index>> order_;
  std::vector<std::vector<std::uint32_t>> waits_;
  std::vector<std::vector<std::vector<Index>>> followers_;
  std::vector<std::size_t> missing_;              // by match: members that are not ready yet
  std::set<std::pair<std::size_t, Index>> held_;  // ready, and waiting for other members
  std::size_t finished_ = 0;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready_;
};

}  // namespace

SetTransfers MatchSet(std::span<const Graph> graphs,
                      const std::map<std::string, ProcessGroup>& groups, Diagnostics& diagnostics) {
  std::map<SequencePlace, std::vector<Match::Member>> found;
  SetTransfers out;
  for (std::size_t rank = 0; rank < graphs.size(); ++rank) {
    const Graph& graph = graphs[rank];
    out.match_of.emplace_back(graph.size(), SetTransfers::kNone);
    for (Index i = 0; i < graph.size(); ++i) {
      const CommSpec* spec = graph.comm(i);
      if (spec == nullptr) {
        continue;
      }
      if (const std::string_view lacks = LacksOf(*spec); !lacks.empty()) {
        diagnostics.Count(fmt::format("transfer_lacks: {}", lacks),
                          fmt::format("rank {}: node {} ({})", graph.metadata().rank, graph.id(i),
                                      graph.name(i)));
      } else {
        found[{SequenceOf(*spec, graph.metadata().rank), spec->index}].push_back({rank, i});
      }
    }
  }
  for (auto& [place, members] : found) {
    const std::size_t expected = MembersOf(place.first, groups, graphs.size());
    if (expected > 1 && members.size() == expected && FitTogether(graphs, members)) {
      for (const Match::Member& member : members) {
        out.match_of[member.rank][member.node] = static_cast<std::int32_t>(out.matches.size());
      }
      out.matches.push_back(MakeMatch(graphs, place, std::move(members)));
      continue;
    }
    for (const Match::Member& member : members) {
      const Graph& graph = graphs[member.rank];
      diagnostics.Count(expected == 1 ? "transfer_of_one_rank" : "transfer_without_counterpart",
                        fmt::format("rank {}: node {} ({}), {} of group '{}'",
                                    graph.metadata().rank, graph.id(member.node),
                                    graph.name(member.node), place.second, place.first.group));
    }
  }
  return out;
}

Result<std::vector<std::vector<Graph::Index>>> OrderTransfers(
    std::span<const Graph> graphs, const SetTransfers& transfers,
    std::span<const std::vector<std::vector<Graph::Index>>> more_deps) {
  return Walk(graphs, transfers, more_deps).Run();
}

}  // namespace reprise::astra_sim
