#include "predict/goal/rank_schedule.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "predict/goal/cpus.h"

namespace reprise {
namespace {

using goal::OperationKind;
using Index = std::uint32_t;

constexpr Index kNone = std::numeric_limits<Index>::max();

// What a node becomes: operations of its rank, in the order in which they begin.
struct NodeOperations {
  Index first = 0;           // of them; those that wait for what the node waits for are the first
  Index waiting = 0;         // how many do
  Index last = kNone;        // the one that what comes after waits for; kNone: see `stands_for`
  Index stands_for = kNone;  // the node that it is instead; kNone: it waits for nothing
};

class RankBuilder {
 public:
  explicit RankBuilder(const GoalRank& rank)
      : set_(rank.set),
        schedule_(rank.schedule),
        graph_(rank.set.graphs[rank.rank]),
        first_(rank.set.first[rank.rank]),
        origin_ns_(rank.origin_ns),
        nodes_(rank.nodes.begin(), rank.nodes.end()),
        added_(nodes_.begin() + graph_.size(), nodes_.end()),
        of_node_(nodes_.size()) {
    // In the order of time: simulators take what is ready in the order of the file.
    std::ranges::stable_sort(nodes_, {}, [&](Index node) { return schedule_.start_ns[node]; });
  }

  goal::RankSchedule Build(const MessagesOfRank& messages, GoalCpus cpus, GoalReport& report) {
    for (const Index node : nodes_) {
      const auto found = IsOfGraph(node) ? messages.find(node - first_) : messages.end();
      if (found != messages.end()) {
        AddTransfer(node, found->second, report);
      } else {
        AddWork(node, report);
      }
    }
    for (const Index node : nodes_) {
      AddEdges(node);
    }
    if (cpus == GoalCpus::kStreams) {
      const AssignedCpus assigned = AssignCpus(uses_);
      for (std::size_t i = 0; i < out_.operations.size(); ++i) {
        out_.operations[i].cpu = assigned.cpu_of[use_of_[i]];
      }
      report.crowded += assigned.crowded;
    }
    std::ranges::sort(out_.edges, {},
                      [](const goal::Edge& edge) { return std::pair(edge.waits, edge.on); });
    report.edges += out_.edges.size();
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::span<const Index> Deps(Index node) const { return set_.timing.DepsOf(node); }

  [[nodiscard]] bool IsOfGraph(Index node) const { return node < set_.first.back(); }

  // Before the node, after what it waits for.
  std::int64_t DelayNs(Index node, GoalReport& report) const {
    const std::int64_t delay_ns =
        Deps(node).empty() ? schedule_.start_ns[node] - origin_ns_ : set_.timing.delay_ns[node];
    report.negative_delays += delay_ns < 0 ? 1 : 0;
    return std::max<std::int64_t>(delay_ns, 0);
  }

  [[nodiscard]] CpuOwner OwnerOf(Index node) {
    if (!IsOfGraph(node)) {
      return {CpuOwner::Kind::kLatency};
    }
    const Actor actor = graph_.actor(node - first_);
    switch (actor.kind) {
      case Actor::Kind::kThread:
        return {CpuOwner::Kind::kThread, actor.id};
      case Actor::Kind::kStream:
        return {CpuOwner::Kind::kStream, actor.id, actor.device};
      case Actor::Kind::kGroup:
        break;
    }
    const CommSpec* const spec = graph_.comm(node - first_);
    const auto number = static_cast<std::int64_t>(groups_.size());
    return {CpuOwner::Kind::kGroup,
            groups_.try_emplace(spec != nullptr ? spec->group : "", number).first->second};
  }

  void Use(const CpuOwner& owner, std::int64_t begin_ns, std::int64_t end_ns) {
    uses_.push_back({owner, begin_ns, end_ns});
  }
  // On the cpu that was asked for last.
  Index Add(const goal::Operation& operation) {
    out_.operations.push_back(operation);
    use_of_.push_back(static_cast<Index>(uses_.size() - 1));
    return static_cast<Index>(out_.operations.size() - 1);
  }
  Index AddCalc(std::int64_t ns, GoalReport& report) {
    ++report.calcs;
    return Add({.size = static_cast<std::uint64_t>(ns)});
  }

  void AddWork(Index node, GoalReport& report) {
    const std::int64_t start_ns = schedule_.start_ns[node];
    const bool is_comm = IsOfGraph(node) && graph_.comm(node - first_) != nullptr;
    const std::int64_t own_ns =
        is_comm ? schedule_.end_ns[node] - start_ns : set_.timing.duration_ns[node];
    const std::int64_t delay_ns = DelayNs(node, report);
    const std::int64_t ns = delay_ns + std::max<std::int64_t>(own_ns, 0);
    NodeOperations& operations = OperationsOf(node);
    if (ns == 0 && Deps(node).size() <= 1) {
      operations.stands_for = Deps(node).empty() ? kNone : Deps(node).front();
      return;
    }
    Use(OwnerOf(node), start_ns - delay_ns, start_ns + own_ns);
    operations.first = operations.last = AddCalc(ns, report);
    operations.waiting = 1;
  }

  void AddTransfer(Index node, const NodeMessages& transfer, GoalReport& report) {
    const auto& channels = transfer.member->channels;
    const bool moves = std::ranges::any_of(channels, [](const auto& c) { return !c.empty(); });
    const std::int64_t delay_ns = DelayNs(node, report);
    const std::int64_t start_ns = schedule_.start_ns[node];
    const std::int64_t end_ns = std::max(schedule_.end_ns[node], start_ns);
    NodeOperations& operations = OperationsOf(node);
    std::optional<Index> gate;
    const std::size_t first_messages =
        channels.size() == 1 && moves ? channels.front().front().size() : 0;
    if (delay_ns > 0 || channels.size() > 1 || (Deps(node).size() > 1 && first_messages != 1)) {
      Use({CpuOwner::Kind::kGap}, start_ns - delay_ns, start_ns);
      gate = AddCalc(delay_ns, report);
    }
    if (!moves) {  // nothing of this rank's
      operations.first = operations.last = gate.value_or(kNone);
      operations.waiting = gate ? 1 : 0;
      operations.stands_for = gate || Deps(node).empty() ? kNone : Deps(node).front();
      return;
    }
    Use(OwnerOf(node), start_ns, end_ns);
    operations.first = gate.value_or(static_cast<Index>(out_.operations.size()));
    operations.waiting = gate ? 1 : static_cast<Index>(first_messages);
    std::vector<Index> ends;
    for (std::size_t c = 0; c < channels.size(); ++c) {
      std::vector<Index> before;
      if (gate) {
        before.push_back(*gate);
      }
      for (const auto& round : channels[c]) {
        std::vector<Index> now;
        for (const PlannedMessage& message : round) {
          now.push_back(AddMessage(message, transfer.first_tag + static_cast<Index>(c), report));
          for (const Index on : before) {
            out_.edges.push_back({now.back(), on});
          }
        }
        before = std::move(now);
      }
      ends.insert(ends.end(), before.begin(), before.end());
    }
    operations.last = ends.front();
    if (ends.size() > 1) {
      operations.last = AddCalc(0, report);
      for (const Index end : ends) {
        out_.edges.push_back({operations.last, end});
      }
    }
  }

  Index AddMessage(const PlannedMessage& message, Index tag, GoalReport& report) {
    // Simulators count the bytes after the first.
    const std::int64_t bytes = std::max<std::int64_t>(message.bytes, 1);
    if (message.sends) {
      ++report.messages;
      report.message_bytes += static_cast<std::uint64_t>(message.bytes);
      report.padded += message.bytes == 0 ? 1 : 0;
    }
    return Add({.kind = message.sends ? OperationKind::kSend : OperationKind::kRecv,
                .peer = static_cast<std::uint32_t>(message.peer),
                .tag = tag,
                .size = static_cast<std::uint64_t>(bytes)});
  }

  [[nodiscard]] std::size_t PlaceOf(Index node) const {
    return IsOfGraph(node)
               ? node - first_
               : graph_.size() + static_cast<std::size_t>(std::ranges::lower_bound(added_, node) -
                                                          added_.begin());
  }
  [[nodiscard]] NodeOperations& OperationsOf(Index node) { return of_node_[PlaceOf(node)]; }
  [[nodiscard]] const NodeOperations& OperationsOf(Index node) const {
    return of_node_[PlaceOf(node)];
  }

  // The operation that ends when the node does; kNone: it ends at once.
  [[nodiscard]] Index LastOf(Index node) const {
    const NodeOperations* at = &OperationsOf(node);
    while (at->last == kNone && at->stands_for != kNone) {
      at = &OperationsOf(at->stands_for);
    }
    return at->last;
  }

  void AddEdges(Index node) {
    const NodeOperations& operations = OperationsOf(node);
    if (operations.waiting == 0) {
      return;
    }
    std::vector<Index> on;
    for (const Index dep : Deps(node)) {
      if (const Index last = LastOf(dep); last != kNone) {
        on.push_back(last);
      }
    }
    std::ranges::sort(on);
    on.erase(std::unique(on.begin(), on.end()), on.end());
    for (Index i = 0; i < operations.waiting; ++i) {
      for (const Index dep : on) {
        out_.edges.push_back({operations.first + i, dep});
      }
    }
  }

  const SimulatedSet& set_;
  const Schedule& schedule_;
  const Graph& graph_;
  const Index first_;  // the graph's first node
  const std::int64_t origin_ns_;
  std::vector<Index> nodes_;
  const std::vector<Index> added_;       // of nodes_ those that no graph has, ascending
  std::vector<NodeOperations> of_node_;  // the graph's, then those of added_
  std::map<std::string, std::int64_t> groups_;
  std::vector<CpuUse> uses_;
  std::vector<Index> use_of_;  // by operation
  goal::RankSchedule out_;
};

}  // namespace

goal::RankSchedule GoalOfRank(const GoalRank& rank, const MessagesOfRank& messages, GoalCpus cpus,
                              GoalReport& report) {
  return RankBuilder(rank).Build(messages, cpus, report);
}

}  // namespace reprise
