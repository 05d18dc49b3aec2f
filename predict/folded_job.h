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
#include "predict/simulator/time_change.h"
#include "predict/transform/rule_set.h"

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
  // As ProgramSet has them.
  std::vector<std::vector<TimeChange>> changes;
};

// Ranks that stand for all of them, ascending: the first of each class, and whomever they send to
// or receive from. Where ranks of one class depend on ranks of the same classes, they take what all
// take. Bad input: a transfer of a role that its rank is not in.
[[nodiscard]] Result<std::vector<std::int32_t>> RepresentativesOf(const FoldedJob& job);

// `set` is folded. With rules, as they change it: classes may be more.
[[nodiscard]] Result<FoldedJob> ReadFoldedJob(const TraceSet& set, RuleSet* rules = nullptr);

}  // namespace reprise
