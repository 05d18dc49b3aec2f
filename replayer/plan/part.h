// Builds the part of a trace set to replay: ranks, then nodes (docs/parts.md).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "collectives/communicator.h"
#include "collectives/matching/group_rounds.h"
#include "collectives/matching/sequences.h"
#include "core/diagnostics.h"
#include "core/result.h"
#include "et_schema/graph.h"
#include "et_schema/trace_set.h"
#include "replayer/plan/options.h"
#include "replayer/plan/plan.h"
#include "replayer/plan/rank_mapping.h"

namespace reprise {

// One rank's, ready to be planned.
struct RankPart {
  Graph graph;
  std::uint64_t recorded_nodes = 0;  // of the whole trace
  Diagnostics diagnostics;           // edge_cut, transfer_outside
};
[[nodiscard]] Result<RankPart> LoadPart(const TraceSet& set, const RankMapping& mapping,
                                        std::int32_t rank, const PlanOptions& options);

// What was left out, in numbers that ranks add up.
struct PartCounts {
  std::uint64_t nodes = 0, recorded_nodes = 0;
  std::uint64_t edges_cut = 0;
  std::uint64_t outside = 0;        // transfers whose other side is not replayed
  std::uint64_t other_streams = 0;  // nodes beside --streams
  std::uint64_t unreceived = 0;     // sends that no rank receives
  std::uint64_t untimed = 0;        // nodes that take their recorded time and have none

  void Add(const PartCounts& other);
};
[[nodiscard]] PartCounts CountPart(const RankPart& part, const Plan& plan,
                                   const PlanOptions& options);

// For the manifest: `ranks`, `one_trace`, `group_sizes`, `steps`, `range`, `streams`; only what was
// chosen.
[[nodiscard]] std::map<std::string, std::string> DescribePart(const PlanOptions& options,
                                                              const RankMapping& mapping);
// Notes for the user after the run; empty if the whole set was replayed.
[[nodiscard]] std::vector<std::string> PartNotes(const PlanOptions& options, const TraceSet& set,
                                                 const RankMapping& mapping,
                                                 const PartCounts& counts);

// The transfers of all ranks, in one process, as they will be: sizes fitted to the groups, splits
// completed, matched across ranks. Bad input names those that do not match.
// Of transfers that only meet, nothing but their number is compared.
[[nodiscard]] Status AgreeOnTransfers(std::vector<std::vector<PlannedTransfer>>& plans,
                                      const RankMapping& mapping, const PartOptions& part);
// The same across the ranks of a run, each of which has its own: fitted and completed afterwards.
// Collective over all ranks, with the same outcome on all.
[[nodiscard]] Status AgreeOnTransfersAcross(GroupRounds& rounds, const RankMapping& mapping,
                                            const PartOptions& part,
                                            std::vector<PlannedTransfer>& mine);
// This rank's, as planned.
[[nodiscard]] std::vector<PlannedTransfer> TransfersOf(const Graph& graph, const Plan& plan);
// Of all ranks, fitted and completed as AgreeOnTransfers does it, without a comparison.
[[nodiscard]] std::vector<std::vector<PlannedTransfer>> FittedTransfers(
    std::span<const Graph> graphs, std::span<const Plan> plans, const RankMapping& mapping);

}  // namespace reprise
