// A folded set in memory: one program for each class of ranks. Read from a set, or generated from
// a description without a set on disk.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "et_schema/graph.h"
#include "et_schema/rank_classes.h"
#include "et_schema/trace_set.h"
#include "predict/simulator/operator_times.h"
#include "predict/workload/description.h"
#include "predict/workload/job/generate.h"
#include "replayer/plan/plan.h"

namespace reprise {

struct FoldedJob {
  std::shared_ptr<const RankClasses> classes;
  // By class. Transfers name groups by role, peers and roots by position.
  std::vector<Graph> programs;
  std::vector<std::vector<OperatorWork>> work;  // by class and node
  std::vector<Plan> plans;  // by class; none where nodes have lost their arguments
  std::string trace_hash;   // of a generated job: of its description and sums
};

// `set` is folded.
[[nodiscard]] Result<FoldedJob> ReadFoldedJob(const TraceSet& set);

struct GeneratedJob {
  FoldedJob folded;
  GenerateSummary summary;
};
// The workload is checked. With plans, so that a run can be written.
[[nodiscard]] Result<GeneratedJob> GenerateFoldedJob(const Workload& workload);

// A class's program as its first rank has it: groups by id, peers and roots by rank.
[[nodiscard]] Result<Graph> FirstRankOf(const FoldedJob& job, std::size_t number);

}  // namespace reprise
