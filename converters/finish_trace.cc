#include "converters/finish_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "et_schema/trace_set.h"

namespace reprise {
namespace {

constexpr std::size_t kMaxListed = 20;
// Times beyond this cannot be added up; no trace lasts 100 years.
constexpr std::int64_t kLongestNs = std::numeric_limits<std::int64_t>::max() / 4;

using Index = std::uint32_t;
// Who does one thing after the other: a thread, a stream, a sequence of transfers.
using ActorKey = std::tuple<int, std::int64_t, std::int64_t, std::string>;

class Finisher {
 public:
  Finisher(const std::string& path, std::int32_t rank, std::vector<Node>& nodes,
           Diagnostics& diagnostics)
      : path_(path), rank_(rank), nodes_(nodes), diagnostics_(diagnostics) {}

  Status Run(FinishedTrace& out) {
    REPRISE_TRY(Resolve());
    REPRISE_TRY(Order());
    const bool timed = ChooseTimes(out);
    if (timed) {
      KeepStarts();
    } else {
      ChainTransfers();
      REPRISE_TRY(Schedule());
    }
    SortByStart();
    ChainActors();
    SetDelays();
    SetSteps(out);
    for (const Index i : order_) {
      out.nodes.push_back(std::move(nodes_[i]));
    }
    return {};
  }

 private:
  [[nodiscard]] std::int64_t End(Index i) const {
    return nodes_[i].start_ns + nodes_[i].duration_ns;
  }

  Status Resolve() {
    std::vector<std::uint64_t> twice;
    for (Index i = 0; i < nodes_.size(); ++i) {
      if (!by_id_.emplace(nodes_[i].id, i).second) {
        twice.push_back(nodes_[i].id);
      }
    }
    if (!twice.empty()) {
      const std::size_t listed = std::min(twice.size(), kMaxListed);
      return BadInput(fmt::format(
          "{}: {} nodes have an id that another node has: {}{}", path_, twice.size(),
          fmt::join(twice.begin(), twice.begin() + static_cast<std::ptrdiff_t>(listed), ", "),
          listed < twice.size() ? ", …" : ""));
    }
    for (Node& node : nodes_) {
      DropDangling(node);
      node.duration_ns = std::clamp<std::int64_t>(node.duration_ns, 0, kLongestNs);
    }
    return {};
  }

  void DropDangling(Node& node) {
    std::vector<Dependency> kept;
    std::unordered_set<std::uint64_t> seen;  // a node may wait for thousands
    for (const Dependency& dep : node.deps) {
      if (!by_id_.contains(dep.node_id)) {
        diagnostics_.Count("dangling_dependency",
                           fmt::format("{}: node {} waits for {}", path_, node.id, dep.node_id));
      } else if (seen.insert(dep.node_id).second) {
        kept.push_back(dep);
      }
    }
    node.deps = std::move(kept);
  }

  // When the last of what a node waits for ends; 0 if it waits for nothing.
  [[nodiscard]] std::int64_t LatestEnd(const Node& node) const {
    std::int64_t latest = 0;
    for (const Dependency& dep : node.deps) {
      latest = std::max(latest, End(by_id_.at(dep.node_id)));
    }
    return latest;
  }

  // Visits every node after what it waits for; of those that are ready, the one whose key, made
  // when it became ready, is least. The value: how much each node still waits for.
  template <typename Key, typename Visit>
  Result<std::vector<std::uint32_t>> VisitInOrder(const Key& key_of, const Visit& visit) const {
    std::vector<std::uint32_t> pending(nodes_.size());
    std::vector<std::vector<Index>> next(nodes_.size());
    using Ready = std::pair<decltype(key_of(Index{})), Index>;
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    for (Index i = 0; i < nodes_.size(); ++i) {
      pending[i] = static_cast<std::uint32_t>(nodes_[i].deps.size());
      for (const Dependency& dep : nodes_[i].deps) {
        next[by_id_.at(dep.node_id)].push_back(i);
      }
      if (pending[i] == 0) {
        ready.emplace(key_of(i), i);
      }
    }
    while (!ready.empty()) {
      const Index i = ready.top().second;
      ready.pop();
      REPRISE_TRY(visit(i));
      for (const Index after : next[i]) {
        if (--pending[after] == 0) {
          ready.emplace(key_of(after), after);
        }
      }
    }
    return pending;
  }

  // Dependencies first, ties by place in the file.
  Status Order() {
    REPRISE_ASSIGN(const std::vector<std::uint32_t> pending, VisitInOrder([](Index i) { return i; },
                                                                          [&](Index i) -> Status {
                                                                            order_.push_back(i);
                                                                            return {};
                                                                          }));
    return order_.size() == nodes_.size() ? Status() : DescribeCycle(pending);
  }

  // From any node that cannot be ordered, back along what it waits for, until one comes again.
  Status DescribeCycle(const std::vector<std::uint32_t>& pending) const {
    const auto blocked = [&](Index i) { return pending[i] > 0; };
    Index at = 0;
    while (!blocked(at)) {
      ++at;
    }
    std::vector<Index> walk;
    std::vector<bool> seen(nodes_.size(), false);
    while (!seen[at]) {
      seen[at] = true;
      walk.push_back(at);
      const auto& deps = nodes_[at].deps;
      const auto dep = std::find_if(deps.begin(), deps.end(), [&](const Dependency& d) {
        return blocked(by_id_.at(d.node_id));
      });
      at = by_id_.at(dep->node_id);
    }
    walk.erase(walk.begin(), std::find(walk.begin(), walk.end(), at));
    std::string listed;
    for (std::size_t i = 0; i < std::min(walk.size(), kMaxListed); ++i) {
      listed += fmt::format("{} ({}), ", nodes_[walk[i]].id, nodes_[walk[i]].name);
    }
    return BadInput(fmt::format(
        "{}: cycle of {} nodes, each waits for the next: {}{}; {} nodes can never start: remove "
        "one "
        "of these dependencies from the file",
        path_, walk.size(), listed,
        walk.size() > kMaxListed ? std::string("…") : std::to_string(nodes_[walk.front()].id),
        nodes_.size() - order_.size()));
  }

  // Whether the recorded starts are used. They count from the first one then.
  bool ChooseTimes(FinishedTrace& out) {
    std::size_t with_start = 0;
    std::int64_t first = kLongestNs;
    for (Node& node : nodes_) {
      node.start_ns = std::clamp<std::int64_t>(node.start_ns, 0, kLongestNs);
      if (node.start_ns > 0) {
        ++with_start;
        first = std::min(first, node.start_ns);
      }
    }
    const bool timed = 2 * with_start > nodes_.size();
    if (!timed && with_start > 0) {
      diagnostics_.Count(
          "start_ignored",
          fmt::format("{}: {} of {} nodes have a start", path_, with_start, nodes_.size()),
          with_start);
    }
    out.base_ns = timed ? first : 0;
    has_start_.resize(nodes_.size());
    for (Index i = 0; i < nodes_.size(); ++i) {
      has_start_[i] = timed && nodes_[i].start_ns > 0;
      nodes_[i].start_ns = has_start_[i] ? nodes_[i].start_ns - first : 0;
    }
    return timed;
  }

  void KeepStarts() {
    for (const Index i : order_) {
      Node& node = nodes_[i];
      if (!has_start_[i]) {
        diagnostics_.Count("node_without_start", fmt::format("{}: node {}", path_, node.id));
        node.start_ns = LatestEnd(node);
        continue;
      }
      std::erase_if(node.deps, [&](const Dependency& dep) {
        const Index from = by_id_.at(dep.node_id);
        if (End(from) <= node.start_ns) {
          return false;
        }
        diagnostics_.Count("dependency_ends_too_late",
                           fmt::format("{}: node {} waits for {}, which ends {} ns later", path_,
                                       node.id, dep.node_id, End(from) - node.start_ns));
        return true;
      });
    }
  }

  [[nodiscard]] ActorKey KeyOf(const Node& node) const {
    if (node.comm) {
      const SequenceKey key = SequenceOf(*node.comm, rank_);
      return {2, key.source, key.destination, key.group};
    }
    return {static_cast<int>(node.actor.kind), node.actor.device, node.actor.id, ""};
  }

  void AddEdge(Index from, Index to, EdgeReason reason) {
    auto& deps = nodes_[to].deps;
    const std::uint64_t id = nodes_[from].id;
    if (std::none_of(deps.begin(), deps.end(), [&](const auto& d) { return d.node_id == id; })) {
      deps.push_back({.node_id = id, .reason = reason, .inferred = true});
      diagnostics_.Count("order_edge");
    }
  }

  void ChainTransfers() {
    std::map<ActorKey, Index> last;
    for (const Index i : order_) {
      if (nodes_[i].comm) {
        const auto [it, first] = last.try_emplace(KeyOf(nodes_[i]), i);
        if (!first) {
          AddEdge(std::exchange(it->second, i), i, EdgeReason::kGroup);
        }
      }
    }
  }

  Status Schedule() {
    std::vector<std::uint32_t> place(nodes_.size());
    for (std::uint32_t k = 0; const Index i : order_) {
      place[i] = k++;
    }
    std::map<ActorKey, std::int64_t> free_at;
    order_.clear();
    const auto key_of = [&](Index i) { return std::pair(LatestEnd(nodes_[i]), place[i]); };
    const auto visit = [&](Index i) -> Status {
      Node& node = nodes_[i];
      std::int64_t& free = free_at[KeyOf(node)];
      node.start_ns = std::max(LatestEnd(node), free);
      free = End(i);
      if (free > kLongestNs) {
        return BadInput(
            fmt::format("{}: the durations up to node {} add up to over 70 years", path_, node.id));
      }
      order_.push_back(i);
      return {};
    };
    REPRISE_TRY(VisitInOrder(key_of, visit));
    return {};
  }

  // order_ puts dependencies first: nodes that start together stay as they are.
  void SortByStart() {
    std::stable_sort(order_.begin(), order_.end(),
                     [&](Index a, Index b) { return nodes_[a].start_ns < nodes_[b].start_ns; });
  }

  void ChainActors() {
    std::map<ActorKey, Index> last;
    std::map<ActorKey, std::int64_t> count;
    for (const Index i : order_) {
      Node& node = nodes_[i];
      const ActorKey key = KeyOf(node);
      if (node.comm) {
        node.comm->index = count[key]++;
      }
      const auto [it, first] = last.try_emplace(key, i);
      if (first) {
        continue;
      }
      if (End(it->second) > node.start_ns) {
        diagnostics_.Count("overlap_on_actor", fmt::format("{}: nodes {} and {}", path_,
                                                           nodes_[it->second].id, node.id));
      } else {
        AddEdge(it->second, i,
                node.comm                                 ? EdgeReason::kGroup
                : node.actor.kind == Actor::Kind::kStream ? EdgeReason::kStream
                                                          : EdgeReason::kThread);
      }
      if (End(i) >= End(it->second)) {
        it->second = i;
      }
    }
  }

  void SetDelays() {
    for (Node& node : nodes_) {
      node.delay_ns = node.start_ns - LatestEnd(node);
    }
  }

  void SetSteps(FinishedTrace& out) {
    std::int64_t end = 0;
    for (Index i = 0; i < nodes_.size(); ++i) {
      nodes_[i].step = 0;
      end = std::max(end, End(i));
    }
    out.steps = {{.name = "trace", .start_ns = 0, .duration_ns = end}};
  }

  const std::string& path_;
  std::int32_t rank_;
  std::vector<Node>& nodes_;
  Diagnostics& diagnostics_;
  std::unordered_map<std::uint64_t, Index> by_id_;
  std::vector<Index> order_;
  std::vector<bool> has_start_;
};

}  // namespace

Result<FinishedTrace> FinishTrace(const std::string& path, std::int32_t rank,
                                  std::vector<Node> nodes, Diagnostics& diagnostics) {
  if (nodes.size() >= std::numeric_limits<Index>::max()) {
    return BadInput(fmt::format("{}: more than {} nodes in one rank", path,
                                std::numeric_limits<Index>::max() - 1));
  }
  FinishedTrace out;
  out.nodes.reserve(nodes.size());
  REPRISE_TRY(Finisher(path, rank, nodes, diagnostics).Run(out));
  return out;
}

}  // namespace reprise
