// One rank's nodes as ASTRA-sim takes them.
#pragma once

#include <span>
#include <vector>

#include "converters/astra_sim/export.h"
#include "converters/astra_sim/order.h"
#include "converters/astra_sim/rank_times.h"
#include "et_schema/graph.h"
#include "et_schema/node.h"

namespace reprise::astra_sim {

// What all ranks share.
struct SetPlan {
  const Request& request;
  HostPlace host;  // decided
  const SetTransfers& transfers;
  const std::map<std::string, std::string>& group_ids;  // the set's → what is written
};

// A rank's own, by node.
struct RankPlan {
  const Graph& graph;
  const std::vector<std::int32_t>& match_of;
  // The transfer after which this one is issued; its own index: none. Unused in replay mode.
  std::vector<Graph::Index> after;
  // More to wait for.
  std::vector<std::vector<Graph::Index>> more_deps;
};

// A node and, if there is a gap to wait for, what waits before it.
struct ExportedNode {
  bool has_delay = false;
  Node delay, node;
};

class RankNodes {
 public:
  RankNodes(const SetPlan& set, const RankPlan& rank);
  [[nodiscard]] Result<ExportedNode> Build(Graph::Index i, Report& report) const;
  [[nodiscard]] std::int64_t LastEndUs() const;

 private:
  void FillTransfer(Graph::Index i, Node& node, Report& report) const;
  [[nodiscard]] Status FillCost(Graph::Index i, Node& node) const;
  void FillRoofline(Graph::Index i, Node& node, Report& report) const;
  void Place(Graph::Index i, Node& node) const;
  void AddDependencies(Graph::Index i, Node& node) const;
  void AddOrder(Graph::Index i, Node& node) const;
  void AddDelay(Graph::Index i, std::int64_t gap_us, ExportedNode& out) const;
  // What does one node at a time: the CPU, the NPU, or the NPU's transfers; receives need none.
  enum class Unit : std::uint8_t { kCpu, kNpu, kTransfer, kNone };
  [[nodiscard]] Unit UnitOf(Graph::Index i) const;
  void ShareUnits();
  [[nodiscard]] std::int64_t GapUs(Graph::Index i) const;
  [[nodiscard]] std::int64_t DurationUs(Graph::Index i) const;
  // Its time is simulated.
  // A transfer that becomes work of its recorded time.
  [[nodiscard]] bool IsWorkOnly(Graph::Index i) const;
  [[nodiscard]] bool SimulatedTransfer(Graph::Index i) const;
  [[nodiscard]] bool OnNpu(Graph::Index i) const;
  [[nodiscard]] bool TakesNoTime(Graph::Index i) const;

  const SetPlan& set_;
  const RankPlan& rank_;
  const bool replay_;
  const Graph& graph_;
  RankTimes times_;
  // When nothing holds a node up any more: its dependencies and gap, or what its unit does before.
  std::vector<std::int64_t> begin_us_;
  // Replay mode: the node of the same unit that it begins after; its own index: none.
  std::vector<Graph::Index> after_;
};

}  // namespace reprise::astra_sim
