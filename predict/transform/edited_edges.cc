#include "predict/transform/edited_edges.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace reprise {
namespace {

using Index = Graph::Index;

// What has an order of its own: a thread, a stream, transfers of a process group or of two ranks.
using Lane = std::tuple<Actor::Kind, std::int64_t, std::int32_t, SequenceKey>;

Lane LaneOf(const Graph& graph, Index i) {
  const Actor actor = graph.actor(i);
  const bool of_group = actor.kind == Actor::Kind::kGroup && graph.comm(i) != nullptr;
  return {actor.kind, actor.id, actor.device,
          of_group ? SequenceOf(*graph.comm(i), graph.metadata().rank) : SequenceKey()};
}

// The last node of each lane so far, and which of them each other lane waits for already.
class LastOfLanes {
 public:
  void Add(const Lane& lane, Index i) { last_[lane] = i; }
  // Those that a node of `lane` has to wait for, once each.
  void Wait(const Lane& lane, std::vector<Index>& out) {
    std::map<Lane, Index>& known = known_[lane];
    for (const auto& [of, i] : last_) {
      const auto [at, added] = known.try_emplace(of, i);
      if (added || at->second != i) {
        at->second = i;
        out.push_back(i);
      }
    }
  }

 private:
  std::map<Lane, Index> last_;
  std::map<Lane, std::map<Lane, Index>> known_;
};

}  // namespace

EditedEdges::EditedEdges(const Graph& graph) : graph_(graph), gone_(graph.size()) {}

void EditedEdges::Remove(Index i) { gone_[i] = true; }

void EditedEdges::Merge(Index i, Index into) {
  gone_[i] = true;
  merged_into_[i] = into;
  merged_[into].push_back(i);
}

void EditedEdges::Move(std::span<const Index> nodes, const Actor& to) {
  const auto rechain = [this](const Actor& actor) {
    if (std::ranges::find(rechained_, actor) == rechained_.end()) {
      rechained_.push_back(actor);
    }
  };
  for (const Index i : nodes) {
    rechain(ActorOf(i));
    moved_[i] = to;
  }
  rechain(to);
}

void EditedEdges::Serialise(std::span<const Index> nodes) {
  for (std::size_t n = 1; n < nodes.size(); ++n) {
    more_[nodes[n]].push_back(nodes[n - 1]);
  }
}

void EditedEdges::KeepApart(std::span<const Index> nodes, std::span<const Index> others) {
  LastOfLanes apart, rest;
  const auto wait = [this](LastOfLanes& for_these, const Lane& lane, Index i) {
    std::vector<Index> before;
    for_these.Wait(lane, before);
    if (!before.empty()) {
      std::vector<Index>& more = more_[i];
      more.insert(more.end(), before.begin(), before.end());
    }
  };
  for (const Index i : others) {
    const Lane lane = LaneOf(graph_, i);
    if (!std::ranges::binary_search(nodes, i)) {
      wait(apart, lane, i);
      rest.Add(lane, i);
      continue;
    }
    wait(rest, lane, i);
    const CommSpec* const spec = graph_.comm(i);
    if (spec == nullptr || spec->kind != CommKind::kSend) {
      apart.Add(lane, i);
    }
  }
}

Actor EditedEdges::ActorOf(Index i) const {
  const auto moved = moved_.find(i);
  return moved == moved_.end() ? graph_.actor(i) : moved->second;
}

void EditedEdges::ChainStreams() {
  for (const Actor& stream : rechained_) {
    std::optional<Index> before;
    for (Index i = 0; i < graph_.size(); ++i) {
      if (ActorOf(i) == stream) {
        before_[i] = before;
        before = i;
      }
    }
  }
}

void EditedEdges::Finish() {
  ChainStreams();
  for (Index i = 0; i < graph_.size(); ++i) {
    if (gone_[i] && !merged_into_.contains(i)) {
      FindBridges(i);
    }
  }
}

// Depth first, without recursion: chains of removed nodes are long.
void EditedEdges::FindBridges(Index i) {
  std::vector<Index> open = {i};
  std::unordered_map<Index, bool> seen;
  while (!open.empty()) {
    const Index at = open.back();
    bool ready = true;
    if (!bridges_.contains(at) && !std::exchange(seen[at], true)) {
      for (const Edge& edge : OwnEdges(at)) {
        if (gone_[edge.from] && !merged_into_.contains(edge.from) &&
            !bridges_.contains(edge.from) && !seen[edge.from]) {
          open.push_back(edge.from);
          ready = false;
        }
      }
    }
    if (ready) {
      open.pop_back();
      if (!bridges_.contains(at)) {
        bridges_[at] = Bridged(at);
      }
    }
  }
}

std::vector<EditedEdges::Edge> EditedEdges::OwnEdges(Index i) const {
  std::vector<Edge> edges;
  const auto before = before_.find(i);
  const auto deps = graph_.deps(i);
  for (std::size_t d = 0; d < deps.size(); ++d) {
    if (before == before_.end() || graph_.reasons(i)[d] != EdgeReason::kStream) {
      edges.push_back({deps[d], graph_.reasons(i)[d], graph_.inferred(i, d)});
    }
  }
  if (before != before_.end() && before->second) {
    edges.push_back({*before->second, EdgeReason::kStream});
  }
  if (const auto more = more_.find(i); more != more_.end()) {
    for (const Index from : more->second) {
      edges.push_back({from, EdgeReason::kControl});
    }
  }
  return edges;
}

void EditedEdges::AddBridged(Index i, const Edge& edge, Bridge& out) const {
  if (!gone_[edge.from]) {
    out.edges.push_back(edge);
    return;
  }
  if (const auto merged = merged_into_.find(edge.from); merged != merged_into_.end()) {
    if (merged->second != i) {
      out.edges.push_back({merged->second, edge.reason, edge.inferred});
    }
    return;  // of what it was merged into, the edges of all are taken
  }
  const auto bridge = bridges_.find(edge.from);
  if (bridge == bridges_.end()) {
    return;  // a circle of nodes that are gone
  }
  for (Edge next : bridge->second.edges) {
    next.reason = next.reason == edge.reason ? edge.reason : EdgeReason::kControl;
    if (next.from != i) {
      out.edges.push_back(next);
    }
  }
  out.root_delay_ns = std::max(out.root_delay_ns, bridge->second.root_delay_ns);
}

EditedEdges::Bridge EditedEdges::Bridged(Index i) const {
  Bridge out;
  std::vector<Edge> edges = OwnEdges(i);
  if (const auto merged = merged_.find(i); merged != merged_.end()) {
    for (const Index member : merged->second) {
      const std::vector<Edge> of_member = OwnEdges(member);
      edges.insert(edges.end(), of_member.begin(), of_member.end());
    }
  }
  for (const Edge& edge : edges) {
    AddBridged(i, edge, out);
  }
  std::ranges::stable_sort(out.edges, {}, &Edge::from);
  out.edges.erase(std::unique(out.edges.begin(), out.edges.end(),
                              [](const Edge& a, const Edge& b) { return a.from == b.from; }),
                  out.edges.end());
  if (out.edges.size() > edges.size()) {
    KeepLastOfThreads(out.edges);
  }
  if (gone_[i] && out.edges.empty()) {
    out.root_delay_ns += graph_.delay_ns(i);
  }
  return out;
}

// Nodes of a thread follow each other.
void EditedEdges::KeepLastOfThreads(std::vector<Edge>& edges) const {
  std::map<std::int64_t, Index> last;
  for (const Edge& edge : edges) {
    if (ActorOf(edge.from).kind == Actor::Kind::kThread) {
      last[ActorOf(edge.from).id] = edge.from;  // they ascend
    }
  }
  std::erase_if(edges, [&](const Edge& edge) {
    const Actor actor = ActorOf(edge.from);
    return actor.kind == Actor::Kind::kThread && last[actor.id] != edge.from;
  });
}

std::vector<Dependency> EditedEdges::Of(Index i) const {
  std::vector<Dependency> deps;
  for (const Edge& edge : Bridged(i).edges) {
    deps.push_back({graph_.id(edge.from), edge.reason, edge.inferred});
  }
  return deps;
}

std::int64_t EditedEdges::RootDelayNs(Index i) const {
  const Bridge bridge = Bridged(i);
  return bridge.edges.empty() && !graph_.deps(i).empty() ? bridge.root_delay_ns : 0;
}

}  // namespace reprise
