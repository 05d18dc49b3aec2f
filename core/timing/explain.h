// Do the edges account for the recorded times? Violated edges, unexplained delay and wake-up
// (docs/definitions.md). Pure functions over plain arrays.
//
// D(n) is the latest recorded end of n's dependencies (for a matched transfer's wait: of the
// transfer), the earliest start of the rank where n has none. The *open time* of a node of a thread
// or stream is its delay, (D(n), start(n)], and for a wait node also what is left of its duration,
// (max(D(n), start(n)), end(n)]. Transfers have none: their queueing is not the model's business.
//
// - **violated**: an edge whose dependency ends after its dependent starts; a wait node of negative
//   duration; a member that ends before an arrival that it needs. What the clocks of the two ranks
//   leave uncertain is a clock error instead.
// - **unexplained**: open time in which another node of the same rank ended: the node may have
//   waited for that and no edge says so. All of the open time counts, not only what follows that
//   end, for all of it would move if that node moved. No search is needed to know that the edges
//   don't cover it: every ancestor of n ended by D(n), since edges run from end to start.
//   A thread learns that a device node ended only from a wait, so that in a thread's delay the ends
//   of other threads' nodes and of transfers count, in a wait all of them, and on a stream too.
//   Exempt is, on a stream, the launch latency (95th percentile of launch → start where the launch
//   came last). Waits are never exempt. A node that starts while others of its stream run waited
//   until these had got far enough, which has no end: its open time ends where the first of them
//   starts.
// - **wakeup**: other open time of a node whose latest dependency is of another actor, or is a wait
//   of no length for one: the time to notice it (on a stream whose latest dependency is its launch:
//   launch latency, not counted).
// What remains is delay within a thread with nothing else going on: the host's own time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/timing/dry_run.h"

namespace reprise {

enum class ActorKind : std::uint8_t { kThread, kStream, kTransfer };

// Parallel to the graph's nodes; times on one clock.
struct Recording {
  std::vector<std::int64_t> start_ns;  // of a wait: not before its latest dependency's end
  std::vector<std::int64_t> end_ns;
  std::vector<std::int32_t> rank;   // dense from 0
  std::vector<std::int32_t> actor;  // distinct over all ranks
  std::vector<ActorKind> kind;
  std::vector<std::uint8_t> is_wait;
  // Device nodes that were launched before the capture began; empty: none. What the first of a
  // stream waited for is not in the capture: no edge is owed for it.
  std::vector<std::uint8_t> launched_before;
  // By rank; empty: all 0.
  std::vector<std::int64_t> clock_uncertainty_ns;
};

struct ViolatedEdge {
  std::uint32_t from = 0, to = 0;  // from == to: a wait of negative duration
  std::int64_t by_ns = 0;
};
struct UnexplainedDelay {
  std::uint32_t node = 0;
  std::uint32_t ended = 0;  // the last node that ended in its open time
  std::int64_t ns = 0;
};
struct RankExplanation {
  std::uint64_t violated_edges = 0;
  std::uint64_t clock_errors = 0;
  std::int64_t unexplained_ns = 0;  // summed over threads and streams
  std::int64_t wakeup_ns = 0;
  std::int64_t launch_latency_ns = 0;  // 95th percentile; 0 without streams
};
struct Explanation {
  std::vector<RankExplanation> ranks;
  std::vector<ViolatedEdge> violated;         // by rank and node
  std::vector<UnexplainedDelay> unexplained;  // longest first
};

// Fails (bad input) on arrays that differ in length.
[[nodiscard]] Result<Explanation> Explain(const TimingGraph& graph, const Recording& recording);

}  // namespace reprise
