#include "predict/micro_batch_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "predict/operator_work.h"
#include "predict/workload/job/program.h"

namespace reprise {
namespace {

// Numbers of the nodes with which a step's passes begin: such a trace has no times, so that starts
// are numbers of nodes.
std::vector<std::uint32_t> StartsOfPasses(const TraceMetadata& header) {
  std::vector<std::uint32_t> starts;
  for (const Range& range : header.ranges) {
    if (range.name == kForwardPass || range.name == kBackwardPass || range.name == kWeightsPass) {
      starts.push_back(static_cast<std::uint32_t>(range.start_ns));
    }
  }
  return starts;
}

// Apart from what moves along.
bool SameNode(const NodeInfo& a, const NodeInfo& b) {
  const auto values = [](const NodeInfo& of) {
    return std::tie(of.name, of.op_class, of.kind, of.phase, of.actor, of.mode, of.time_from,
                    of.kernel, of.shape, of.flops, of.bytes, of.work_from, of.capped, of.step,
                    of.recorded_duration_ns, of.recorded_elapsed_ns, of.recorded_delay_ns,
                    of.recorded_tracing_ns, of.counts_for_coverage);
  };
  return values(a) == values(b);
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

Workload WithMicroBatches(const Workload& workload, std::int64_t micro_batches) {
  Workload changed = workload;
  changed.global_batch = workload.layout.dp * workload.micro_batch * micro_batches;
  return changed;
}

MicroBatchJobs::MicroBatchJobs(const Workload& workload, bool repeat, For use)
    : workload_(workload),
      repeat_(repeat && workload.steps == 1 && workload.routing.balanced),
      use_(use),
      plan_(PlanRanks(workload)),
      parameters_(CountParameters(workload)),
      trainable_(CountTrainableParameters(workload)),
      few_(plan_.classes.size()) {}

Result<GeneratedJob> MicroBatchJobs::Generate(std::int64_t micro_batches) {
  if (classes_ == nullptr) {
    REPRISE_ASSIGN(RankClasses classes, ClassesOfRanks(workload_, plan_));
    classes_ = std::make_shared<const RankClasses>(std::move(classes));
  }
  const Workload workload = WithMicroBatches(workload_, micro_batches);
  JobSums sums(workload, plan_, parameters_, trainable_);
  GeneratedJob job;
  job.folded.classes = classes_;
  for (std::size_t number = 0; number < few_.size(); ++number) {
    REPRISE_ASSIGN(Class of, ClassOf(number, micro_batches, /*program=*/true));
    sums.Add(of.totals);
    job.folded.programs.push_back(std::move(*of.program));
    job.folded.work.push_back(std::move(of.work));
    if (use_ == For::kRun) {
      job.folded.described.push_back(std::move(of.described));
    }
  }
  job.summary = sums.Finish();
  job.folded.trace_hash = HashOfText(TextOf(SourceText(workload), job.summary));
  return job;
}

Result<GenerateSummary> MicroBatchJobs::Sum(std::int64_t micro_batches) {
  const Workload workload = WithMicroBatches(workload_, micro_batches);
  JobSums sums(workload, plan_, parameters_, trainable_);
  for (std::size_t number = 0; number < few_.size(); ++number) {
    REPRISE_ASSIGN(const Class of, ClassOf(number, micro_batches, /*program=*/false));
    sums.Add(of.totals);
  }
  return sums.Finish();
}

Result<MicroBatchJobs::Generated> MicroBatchJobs::GenerateNodes(std::size_t number,
                                                                std::int64_t micro_batches,
                                                                bool program, bool repeatable) {
  ++generated_;
  Generated out;
  GraphStream nodes(workload_.name);
  std::optional<GraphStream> whole;  // with arguments, for the plan
  if (program && use_ == For::kRun) {
    whole.emplace(workload_.name);
  }
  const auto keep = [&](Node& node, const NodeFacts& /*facts*/) -> Status {
    if (whole) {
      REPRISE_TRY(whole->Add(node));
    }
    out.made.work.push_back(WorkOf(node));
    node.inputs = {};
    node.outputs = {};
    node.parent.clear();
    node.rf_id = node.seq_id = -1;
    if (node.device_work) {
      node.device_work->correlation = -1;
    }
    return nodes.Add(node);
  };
  REPRISE_ASSIGN(ClassProgram of_class,
                 GenerateClass(WithMicroBatches(workload_, micro_batches), plan_, number,
                               program ? NodeSink(keep) : NodeSink(), repeatable));
  out.made.totals = std::move(of_class.totals);
  out.passes = StartsOfPasses(of_class.header);
  if (whole) {
    REPRISE_ASSIGN(const Graph graph, whole->Finish(of_class.header));
    REPRISE_ASSIGN(out.made.described, DescribeProgram(graph));
  }
  if (program) {
    of_class.header.ranges.clear();
    REPRISE_ASSIGN(out.made.program, nodes.Finish(std::move(of_class.header)));
  }
  return out;
}

Status MicroBatchJobs::FindFew(std::size_t number, const RepeatedPasses& passes, bool program) {
  REPRISE_ASSIGN(Generated of, GenerateNodes(number, passes.batches, program, true));
  const RepeatedPart part{of.passes[passes.earliest], of.passes[passes.begin],
                          of.passes[passes.end]};
  const auto same_work = [&] {
    const auto begin = of.made.work.begin() + part.begin;
    const auto end = of.made.work.begin() + part.end;
    return std::equal(begin, end, begin - (end - begin));
  };
  const auto same_nodes = [&] {
    const std::vector<NodeInfo>& infos = of.made.described.nodes;
    const auto begin = infos.begin() + part.begin;
    return infos.empty() ||
           std::equal(begin, infos.begin() + part.end, begin - (part.end - part.begin), SameNode);
  };
  const bool repeats =
      of.made.totals.Repeats(part) &&
      (!program || (of.made.program->Repeats(part) && same_work() && same_nodes()));
  few_[number] = Few{std::move(of.made), repeats ? std::optional(part) : std::nullopt};
  return {};
}

Result<MicroBatchJobs::Class> MicroBatchJobs::ClassOf(std::size_t number,
                                                      std::int64_t micro_batches, bool program) {
  const std::int64_t stage = PlaceOf(workload_.layout, plan_.classes[number].front()).pp;
  const auto passes =
      repeat_ ? RepeatedPassesOf(WithMicroBatches(workload_, micro_batches), stage) : std::nullopt;
  std::optional<Few>& few = few_[number];
  if (passes && (!few || (program && !few->made.program))) {
    REPRISE_TRY(FindFew(number, *passes, program));
  }
  if (!passes || !few->part) {
    REPRISE_ASSIGN(Generated all, GenerateNodes(number, micro_batches, program, false));
    return std::move(all.made);
  }
  const std::int64_t times = (micro_batches - passes->batches) / passes->more_batches;
  const double nodes = static_cast<double>(few->made.totals.nodes) +
                       static_cast<double>(times) * (few->part->end - few->part->begin);
  REPRISE_TRY(CheckNodeCount(static_cast<std::uint64_t>(std::min(nodes, 1e18))));
  Class out{.totals = few->made.totals.Repeated(*few->part, times)};
  if (program) {
    out.program = few->made.program->Repeated(*few->part, times);
    out.work = RepeatedRows(few->made.work, *few->part, times);
    out.described = few->made.described;
    out.described.part = *few->part;
    out.described.times = times;
  }
  return out;
}

}  // namespace reprise
