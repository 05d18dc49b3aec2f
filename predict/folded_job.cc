#include "predict/folded_job.h"

#include <algorithm>
#include <set>
#include <utility>

#include "predict/operator_work.h"
#include "replayer/plan/plan.h"

namespace reprise {
namespace {

DescribedNodes Described(const Graph& program, const Plan& plan) {
  return {.nodes = DescribeNodes(program, plan), .frame = plan.frame};
}

}  // namespace

std::vector<NodeInfo> DescribedNodes::All() const {
  std::vector<NodeInfo> all = RepeatedRows(nodes, part, times);
  const std::uint32_t more = part.end - part.begin;
  for (std::size_t i = part.end; times > 0 && i < all.size(); ++i) {
    const auto repetition = std::min<std::int64_t>((i - part.end) / more + 1, times);
    all[i].node_id += static_cast<std::uint64_t>(repetition * more);
    all[i].recorded_start_ns += repetition * more;
  }
  return all;
}

std::vector<std::uint64_t> DescribedNodes::Repetitions() const {
  std::vector<std::uint64_t> begins;
  if (times == 0) {
    return begins;
  }
  const std::uint64_t more = part.end - part.begin;
  // The part repeats the nodes right before it.
  const std::uint64_t first = nodes[part.begin].node_id - more;
  for (std::int64_t i = 0; i <= times + 2; ++i) {
    begins.push_back(first + static_cast<std::uint64_t>(i) * more);
  }
  return begins;
}

Result<DescribedNodes> DescribeProgram(const Graph& program) {
  REPRISE_ASSIGN(const Plan plan, PlanOfWork(program));
  return Described(program, plan);
}

Result<FoldedJob> ReadFoldedJob(const TraceSet& set, RuleSet* rules) {
  FoldedJob job{.classes = set.classes};
  if (rules != nullptr) {
    REPRISE_ASSIGN(RankClasses divided, rules->Divided(*set.classes));
    job.classes = std::make_shared<const RankClasses>(std::move(divided));
  }
  for (const RankClass& file : job.classes->classes()) {
    const std::int32_t rank = file.ranks.front().first;
    REPRISE_TRY(set.VerifyFile(rank));
    REPRISE_ASSIGN(Graph graph, Graph::Load(set.RankPath(rank)));
    if (rules != nullptr) {
      REPRISE_ASSIGN(graph, rules->Edited(graph, rank, set));
      job.changes.push_back(rules->TimeChanges(graph, rank));
    }
    Status status;
    REPRISE_ASSIGN(Graph program,
                   graph.Rewrite(graph.metadata(), [&](Graph::Index /*i*/, Node& node) {
                     if (node.comm && status) {
                       status = set.classes->Unresolve(rank, *node.comm);
                     }
                     return true;
                   }));
    REPRISE_TRY(std::move(status));
    REPRISE_ASSIGN(const Plan plan, PlanOfWork(program));
    std::vector<OperatorWork> work;
    work.reserve(program.size());
    for (Graph::Index i = 0; i < program.size(); ++i) {
      REPRISE_ASSIGN(work.emplace_back(), WorkOf(program, plan, i));
    }
    job.work.push_back(std::move(work));
    job.described.push_back(Described(program, plan));
    job.programs.push_back(std::move(program));
  }
  return job;
}

Result<std::vector<std::int32_t>> RepresentativesOf(const FoldedJob& job) {
  std::set<std::int32_t> found;
  std::vector<std::int32_t> open;
  const auto add = [&](std::int32_t rank) {
    if (found.insert(rank).second) {
      open.push_back(rank);
    }
  };
  for (const RankClass& of_class : job.classes->classes()) {
    add(of_class.ranks.front().first);
  }
  while (!open.empty()) {
    const std::int32_t rank = open.back();
    open.pop_back();
    const Graph& program = job.programs[job.classes->IndexOf(rank)];
    for (Graph::Index i = 0; i < program.size(); ++i) {
      const CommSpec* const spec = program.comm(i);
      if (spec == nullptr || !IsPointToPoint(spec->kind) || spec->peer < 0) {
        continue;
      }
      CommSpec of_rank = *spec;
      REPRISE_TRY(job.classes->Resolve(rank, of_rank));
      add(of_rank.peer);
    }
  }
  return std::vector<std::int32_t>(found.begin(), found.end());
}

}  // namespace reprise
