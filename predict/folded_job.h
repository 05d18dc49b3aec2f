// A folded set in memory: one program for each class of ranks, as read from a set or as
// MicroBatchJobs generates it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/records.h"
#include "core/result.h"
#include "core/timing/steps.h"
#include "et_schema/graph.h"
#include "et_schema/rank_classes.h"
#include "et_schema/trace_set.h"
#include "predict/simulator/operator_times.h"

namespace reprise {

// The nodes of a program as a run has them, of which a part may repeat.
struct DescribedNodes {
  std::vector<NodeInfo> nodes;
  StepFrame frame;
  RepeatedPart part;
  std::int64_t times = 0;  // that the part comes once more

  // With all repetitions: ids and starts move along, as in Graph::Repeated.
  [[nodiscard]] std::vector<NodeInfo> All() const;
  // Ids of the nodes with which the repetitions begin, and of the node behind them; none where
  // nothing repeats.
  [[nodiscard]] std::vector<std::uint64_t> Repetitions() const;
};

// As a run has them.
[[nodiscard]] Result<DescribedNodes> DescribeProgram(const Graph& program);

struct FoldedJob {
  std::shared_ptr<const RankClasses> classes;
  // By class. Transfers name groups by role, peers and roots by position.
  std::vector<Graph> programs;
  std::vector<std::vector<OperatorWork>> work;  // by class and node
  std::vector<DescribedNodes> described;        // by class; none of a job without a run
  std::string trace_hash;                       // of a generated job: of its description and sums
};

// `set` is folded.
[[nodiscard]] Result<FoldedJob> ReadFoldedJob(const TraceSet& set);

}  // namespace reprise
