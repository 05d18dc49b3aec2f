#include "predict/folded_job.h"

#include <fmt/format.h>

#include "predict/operator_work.h"

namespace reprise {
namespace {

// `graph` with `change(spec)` of every transfer, which gives a Status.
template <typename Change>
Result<Graph> WithTransfers(const Graph& graph, const Change& change) {
  Status status;
  REPRISE_ASSIGN(Graph changed,
                 graph.Rewrite(graph.metadata(), [&](Graph::Index /*i*/, Node& node) {
                   if (node.comm && status) {
                     status = change(*node.comm);
                   }
                   return true;
                 }));
  REPRISE_TRY(std::move(status));
  return changed;
}

// Of the program that was added last.
Status AddPlan(FoldedJob& job) {
  const Graph& program = job.programs.back();
  REPRISE_ASSIGN(Plan plan, PlanOfWork(program));
  std::vector<OperatorWork> work;
  work.reserve(program.size());
  for (Graph::Index i = 0; i < program.size(); ++i) {
    REPRISE_ASSIGN(work.emplace_back(), WorkOf(program, plan, i));
  }
  job.work.push_back(std::move(work));
  job.plans.push_back(std::move(plan));
  return {};
}

// What distinguishes generated jobs: the generator is a function of the description.
std::string TextOf(const std::string& source, const GenerateSummary& s) {
  std::string text = fmt::format("{}\n{} {} {} {} {} {}\n", source, s.ranks, s.classes, s.nodes,
                                 s.parameters, s.model_flops, s.executed_flops);
  for (const StageMemory& stage : s.memory) {
    text += fmt::format("{} {} {} {} {}\n", stage.stage, stage.bytes.parameters,
                        stage.bytes.optimizer, stage.bytes.activations, stage.bytes.peak);
  }
  for (const TransferRow& row : s.transfers) {
    text += fmt::format("{} {} {} {}\n", row.kind, row.group, row.sums.count, row.sums.bytes);
  }
  return text;
}

}  // namespace

Result<FoldedJob> ReadFoldedJob(const TraceSet& set) {
  FoldedJob job{.classes = set.classes};
  for (const RankClass& file : set.classes->classes()) {
    const std::int32_t rank = file.ranks.front().first;
    REPRISE_TRY(set.VerifyFile(rank));
    REPRISE_ASSIGN(const Graph graph, Graph::Load(set.RankPath(rank)));
    REPRISE_ASSIGN(Graph program, WithTransfers(graph, [&](CommSpec& spec) {
                     return set.classes->Unresolve(rank, spec);
                   }));
    job.programs.push_back(std::move(program));
    REPRISE_TRY(AddPlan(job));
  }
  return job;
}

Result<GeneratedJob> GenerateFoldedJob(const Workload& workload) {
  const RankPlan plan = PlanRanks(workload);
  JobSums sums(workload, plan, CountParameters(workload));
  GeneratedJob job;
  for (std::size_t number = 0; number < plan.classes.size(); ++number) {
    GraphStream nodes(workload.name);
    REPRISE_ASSIGN(ClassProgram program, GenerateClass(workload, plan, number,
                                                       [&](Node& node, const NodeFacts& /*facts*/) {
                                                         return nodes.Add(node);
                                                       }));
    sums.Add(program.totals);
    REPRISE_ASSIGN(Graph graph, nodes.Finish(std::move(program.header)));
    job.folded.programs.push_back(std::move(graph));
    REPRISE_TRY(AddPlan(job.folded));
  }
  job.summary = sums.Finish();
  REPRISE_ASSIGN(RankClasses classes, ClassesOfRanks(workload, plan));
  job.folded.classes = std::make_shared<const RankClasses>(std::move(classes));
  const std::string source = job.folded.programs.back().metadata().source;
  job.folded.trace_hash = HashOfText(TextOf(source, job.summary));
  return job;
}

Result<Graph> FirstRankOf(const FoldedJob& job, std::size_t number) {
  const std::int32_t rank = job.classes->classes()[number].ranks.front().first;
  return WithTransfers(job.programs[number],
                       [&](CommSpec& spec) { return job.classes->Resolve(rank, spec); });
}

}  // namespace reprise
