// The dependencies of a rank's nodes once some are removed, merged, moved or kept apart.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "et_schema/graph.h"

namespace reprise {

// Changes come first, then Finish, then questions. The graph must outlive it. Order among nodes is
// that of recorded starts, as their indices have it.
class EditedEdges {
 public:
  using Index = Graph::Index;

  explicit EditedEdges(const Graph& graph);

  // What waited for the node waits for what it waited for.
  void Remove(Index i);
  // What waited for the node waits for `into`, which waits for all that the node waited for.
  void Merge(Index i, Index into);
  // The nodes take their places among those of another stream of a device.
  void Move(std::span<const Index> nodes, const Actor& to);
  // One after the other.
  void Serialise(std::span<const Index> nodes);
  // What is in `others` and not in `nodes` runs beside none of these: order stays that of starts,
  // over all threads, streams and process groups. Nodes may run beside each other. Nothing
  // waits for the end of a send: that comes with its receive, which may be much later on another
  // rank. `others` has all of `nodes`; both ascend.
  void KeepApart(std::span<const Index> nodes, std::span<const Index> others);
  void Finish();

  // Removed or merged.
  [[nodiscard]] bool IsGone(Index i) const { return gone_[i]; }
  [[nodiscard]] Actor ActorOf(Index i) const;
  [[nodiscard]] std::vector<Dependency> Of(Index i) const;
  // Of a node all of whose dependencies are gone, without one in their place: when these started,
  // which its own delay then follows.
  [[nodiscard]] std::int64_t RootDelayNs(Index i) const;

 private:
  struct Edge {
    Index from = 0;
    EdgeReason reason = EdgeReason::kControl;
    bool inferred = false;
  };
  struct Bridge {  // in place of a node that is gone
    std::vector<Edge> edges;
    std::int64_t root_delay_ns = 0;
  };

  [[nodiscard]] std::vector<Edge> OwnEdges(Index i) const;
  [[nodiscard]] Bridge Bridged(Index i) const;
  void AddBridged(Index i, const Edge& edge, Bridge& out) const;
  void KeepLastOfThreads(std::vector<Edge>& edges) const;
  void ChainStreams();
  void FindBridges(Index i);

  const Graph& graph_;
  std::vector<bool> gone_;
  std::unordered_map<Index, Index> merged_into_;
  std::unordered_map<Index, std::vector<Index>> merged_;  // by what they were merged into
  std::unordered_map<Index, Actor> moved_;
  std::vector<Actor> rechained_;                            // streams whose order is new
  std::unordered_map<Index, std::optional<Index>> before_;  // on those, by node
  std::unordered_map<Index, std::vector<Index>> more_;      // waits that rules add
  std::unordered_map<Index, Bridge> bridges_;
};

}  // namespace reprise
