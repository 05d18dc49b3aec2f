// Traces as the plain arrays of core/timing/: of one rank alone, or of all ranks of a set on rank
// 0's clock with their transfers matched.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/timing/dry_run.h"
#include "core/timing/explain.h"
#include "et_schema/graph.h"

namespace reprise {

struct TimingTrace {
  TimingGraph graph;    // edges, durations and delays as the files have them
  Recording recording;  // recorded times: what the dry run is held against, never its input
  std::vector<std::int32_t> step;         // by node; −1 outside any step
  std::vector<std::int32_t> ranks;        // rank numbers; Recording::rank indexes them
  std::vector<std::uint32_t> first;       // index of each rank's first node, and the end
  std::uint64_t matched_transfers = 0;    // nodes
  std::uint64_t unmatched_transfers = 0;  // no other member found, or the group is unknown

  // The rank (position in `ranks`) and the index in its Graph of a node here.
  [[nodiscard]] std::pair<std::size_t, Graph::Index> Locate(std::uint32_t node) const;
};

// Transfers take their recorded time; times are relative to the trace's base.
[[nodiscard]] TimingTrace TimingOfRank(const Graph& graph);
// Times are rank 0's, relative to the earliest base. A node without dependencies starts at its
// recorded start; every other start follows from edges and delays. Transfers end with transfer_ns
// of the files (where a file has none: as the recorded times say).
[[nodiscard]] TimingTrace TimingOfSet(std::span<const Graph* const> graphs);

}  // namespace reprise
