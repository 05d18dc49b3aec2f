// Which recorded rank each rank of a run plays, and what becomes of process groups and of those
// that a transfer names (docs/parts.md). Pure functions; sizes follow in group_sizes.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/diagnostics.h"
#include "core/result.h"
#include "et_schema/graph.h"
#include "et_schema/trace_set.h"
#include "replayer/options.h"

namespace reprise {

struct MappedGroup {
  std::vector<std::int32_t> ranks;     // of the run, in group order
  std::vector<std::int32_t> recorded;  // of the trace, in group order
};

struct RankMapping {
  std::vector<std::int32_t> played;  // by rank of the run: the trace's rank
  std::vector<std::int32_t> players;  // the other way round, the first that plays it; −1: none does
  std::map<std::string, MappedGroup> groups;
  bool one_trace = false;
  bool assume_groups = false;
  GroupSizes sizes = GroupSizes::kKeep;
  bool changes = false;  // false: every rank plays itself, nothing is to be rewritten

  // The run's rank that plays a recorded one; −1: none does.
  [[nodiscard]] std::int32_t PlayerOf(std::int32_t recorded) const;
  // Of a group id, the ranks of the run; empty: unknown.
  [[nodiscard]] std::vector<std::int32_t> RanksOf(const std::string& group) const;
};

// The set as far as the options need it: all ranks, or those that they name.
[[nodiscard]] Result<TraceSet> OpenChosen(const std::string& directory, const PartOptions& part);

// `size`: how many ranks the run has; only one trace on all ranks needs it. Usage error for a rank
// that the set lacks.
[[nodiscard]] Result<RankMapping> MapRanks(const TraceSet& set, const ReplayOptions& options,
                                           int size);

// What rank `rank` of the run plays, from what was recorded by RankMapping::played[rank]: rank,
// groups, roots and peers are those of the run. A transfer whose peer or root does not take part,
// or whose group cannot be mapped, becomes one to the outside and is counted (`transfer_outside`).
[[nodiscard]] Result<Graph> PlayAs(const Graph& graph, const RankMapping& mapping,
                                   std::int32_t rank, Diagnostics& diagnostics);
// The same for one transfer; false: to the outside.
[[nodiscard]] bool MapTransfer(const RankMapping& mapping, std::int32_t rank, CommSpec& spec);

}  // namespace reprise
