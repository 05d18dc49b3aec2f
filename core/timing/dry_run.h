// The one equation on a simulated clock: what the step takes according to edges, durations and
// delays alone (docs/definitions.md). Pure functions over plain arrays; no recorded start is read.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/timing/transfer.h"

namespace reprise {

// A node as files name it.
struct NodeName {
  std::int32_t rank = 0;
  std::uint64_t id = 0;
};

// One graph, of one rank or of all ranks of a set concatenated. Arrays are parallel, CSR for deps.
struct TimingGraph {
  std::vector<std::int64_t> duration_ns;
  std::vector<std::int64_t> delay_ns;
  std::vector<std::uint32_t> dep_offset;  // size n+1
  std::vector<std::uint32_t> deps;        // dependency indices
  std::vector<std::uint8_t> reasons;      // EdgeReason as number, parallel to deps
  // Transfers matched across ranks: every member starts (arrives) by the equation, and ends at
  // max(arrivals of the match that it needs) + its own transfer_ns. -1: not a matched transfer.
  // Match numbers are dense from 0.
  std::vector<std::int32_t> match;
  std::vector<std::int64_t> transfer_ns;
  // Parallel to match where some member needs less than all arrivals; else empty.
  std::vector<ArrivalNeed> need;
  std::vector<std::uint8_t> root;  // 1: its arrival is what members of need kRoot wait for
  std::vector<NodeName> names;     // for messages; without them these name indices

  [[nodiscard]] std::size_t size() const { return duration_ns.size(); }
  [[nodiscard]] std::span<const std::uint32_t> DepsOf(std::uint32_t node) const {
    return {deps.data() + dep_offset[node], deps.data() + dep_offset[node + 1]};
  }
};

struct Schedule {
  std::vector<std::int64_t> start_ns;
  std::vector<std::int64_t> end_ns;
  std::int64_t makespan_ns = 0;  // latest end − earliest start
};

// Times of a graph's nodes; parallel to it.
struct NodeTimes {
  std::span<const std::int64_t> duration_ns, delay_ns, transfer_ns;
};

// The order in which the nodes of a graph start and end. It follows from edges and matches alone,
// so that the same graph is scheduled with other times in one pass. The graph must outlive it.
class EventOrder {
 public:
  // Fails (bad input, naming nodes) on a cycle, also one through matched transfers.
  static Result<EventOrder> Find(const TimingGraph& graph);

  [[nodiscard]] const TimingGraph& graph() const { return *graph_; }
  // A node without dependencies starts at its delay: the origin of the schedule is that of the
  // delays. Thread-safe.
  [[nodiscard]] Schedule Run(const NodeTimes& times) const;

 private:
  explicit EventOrder(const TimingGraph& graph) : graph_(&graph) {}

  const TimingGraph* graph_;
  std::int32_t matches_ = 0;
  // A node that ends when it has its own duration is named once; a matched transfer a second time,
  // where it ends.
  std::vector<std::uint32_t> events_;
};

// Bad input names the first node that takes more than kLongestNs (core/nanoseconds.h), either way,
// or says that all together take so long that sums would not fit.
[[nodiscard]] Status CheckTimes(const TimingGraph& graph);
// Bad input: a schedule of more than kLongestNs.
[[nodiscard]] Status CheckLength(const Schedule& schedule);

// The graph's own times in its order. Bad input also as CheckTimes and CheckLength say.
[[nodiscard]] Result<Schedule> DryRun(const TimingGraph& graph);

// Nodes on the critical path, last first: from the latest end follow the dependency (or the last
// arriving member) that determined each start.
[[nodiscard]] std::vector<std::uint32_t> CriticalPath(const TimingGraph& graph,
                                                      const Schedule& schedule);

}  // namespace reprise
