// Which recorded rank each rank of a run replays, and how process groups and the ranks named in
// transfers are mapped (docs/parts.md). Pure functions; sizes follow in group_sizes.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/diagnostics.h"
#include "core/result.h"
#include "et_schema/graph.h"
#include "et_schema/trace_set.h"
#include "replayer/plan/options.h"

namespace reprise {

struct MappedGroup {
  std::vector<std::int32_t> ranks;     // of the run, in group order
  std::vector<std::int32_t> recorded;  // of the trace, in group order
  std::string description;             // "tp"; empty: the set has none
};

struct RankMapping {
  std::vector<std::int32_t> replayed;     // by rank of the run: the trace's rank
  std::vector<std::int32_t> replayed_by;  // the inverse: the first that replays it; −1: none
  std::map<std::string, MappedGroup> groups;
  bool one_trace = false;
  bool assume_groups = false;
  GroupSizes sizes = GroupSizes::kKeep;
  bool changes = false;  // false: every rank replays its own trace unchanged

  // The run's rank that replays a recorded rank; −1: none.
  [[nodiscard]] std::int32_t RunRankOf(std::int32_t recorded) const;
  // Of a group id, the ranks of the run; empty: unknown.
  [[nodiscard]] std::vector<std::int32_t> RanksOf(const std::string& group) const;
};

// The set as far as the options need it: all ranks, or those that they name.
[[nodiscard]] Result<TraceSet> OpenChosen(const std::string& directory, const PartOptions& part);

// `size`: how many ranks the run has; only one trace on all ranks needs it. Usage error for a rank
// that the set lacks.
[[nodiscard]] Result<RankMapping> MapRanks(const TraceSet& set, const PlanOptions& options,
                                           int size);

// The trace of RankMapping::replayed[rank], rewritten for rank `rank` of the run: rank, groups,
// roots and peers are those of the run. A transfer whose peer or root is not replayed, or whose
// group cannot be mapped, goes to the outside and is counted (`transfer_outside`).
[[nodiscard]] Result<Graph> RewriteFor(const Graph& graph, const RankMapping& mapping,
                                       std::int32_t rank, Diagnostics& diagnostics);
// The same for one transfer; false: to the outside.
[[nodiscard]] bool MapTransfer(const RankMapping& mapping, std::int32_t rank, CommSpec& spec);

}  // namespace reprise
