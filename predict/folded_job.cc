#include "predict/folded_job.h"

#include <algorithm>
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

Result<FoldedJob> ReadFoldedJob(const TraceSet& set) {
  FoldedJob job{.classes = set.classes};
  for (const RankClass& file : set.classes->classes()) {
    const std::int32_t rank = file.ranks.front().first;
    REPRISE_TRY(set.VerifyFile(rank));
    REPRISE_ASSIGN(const Graph graph, Graph::Load(set.RankPath(rank)));
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

}  // namespace reprise
