// SetSimulation's part for folded sets: class files as programs, and a run of one rank a class.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "core/timing/dry_run.h"
#include "et_schema/rank_classes.h"
#include "predict/folded_job.h"
#include "predict/set_simulation.h"
#include "predict/simulator/class_simulation.h"
#include "predict/simulator/device_operations.h"
#include "replayer/plan/graph_steps.h"
#include "replayer/plan/plan.h"
#include "report/run/run.h"

namespace reprise {
namespace {

// What the run keeps of a class's transfers: those of `rank`, its first.
Result<std::vector<CollectiveInfo>> CollectivesOf(const Graph& program, const RankClasses& classes,
                                                  std::int32_t rank,
                                                  std::span<const std::int64_t> transfer_ns) {
  std::map<std::string, std::int32_t> sizes;  // by role
  std::vector<CollectiveInfo> infos;
  for (Graph::Index i = 0; i < program.size(); ++i) {
    if (program.comm(i) == nullptr) {
      continue;
    }
    const std::string& role = program.comm(i)->group;
    const auto [size, added] = sizes.try_emplace(role, 1);
    if (const auto group = added ? classes.GroupOf(role, rank) : std::nullopt) {
      size->second = static_cast<std::int32_t>(group->ranks.size());
    }
    CommSpec spec = *program.comm(i);
    REPRISE_TRY(classes.Resolve(rank, spec));
    infos.push_back({program.id(i), std::move(spec), size->second, role,
                     transfer_ns.empty() ? 0 : transfer_ns[i]});
  }
  return infos;
}

// By class, its ranks as "0-7, 64-127:8".
std::vector<std::string> MembersOf(const ClassSimulation& simulated) {
  std::vector<std::vector<std::int32_t>> ranks(simulated.classes.size());
  for (std::size_t rank = 0; rank < simulated.class_of.size(); ++rank) {
    ranks[simulated.class_of[rank]].push_back(static_cast<std::int32_t>(rank));
  }
  std::vector<std::string> texts;
  texts.reserve(ranks.size());
  for (const std::vector<std::int32_t>& of_class : ranks) {
    texts.push_back(RangesText(of_class));
  }
  return texts;
}

// Of each step, the longest of all classes so far.
void LongestSteps(const Graph& program, std::uint32_t first, const Schedule& schedule,
                  std::vector<std::int64_t>& longest_ns) {
  const std::vector<std::int32_t> step = StepsOfNodes(program);
  const StepNodes nodes{step, std::span(schedule.start_ns).subspan(first, program.size()),
                        std::span(schedule.end_ns).subspan(first, program.size())};
  const auto spans = StepSpans({.steps = longest_ns.size()}, nodes);
  for (std::size_t s = 0; s < spans.size(); ++s) {
    longest_ns[s] = std::max(longest_ns[s], spans[s].second - spans[s].first);
  }
}

}  // namespace

Status SetSimulation::RunFolded(const SimulationRequest& request, const TraceSet& set,
                                const FoldedJob& job) {
  REPRISE_TRY(machine_.CheckWithoutTimes(set.directory.empty(), request.options));
  REPRISE_TRY(CheckRules());
  if (!job_ || job_->memory.empty()) {
    REPRISE_ASSIGN(traced_, TracedMemoryOf(job.programs));
  }
  const RankClasses& ranks_of = *job.classes;
  ProgramSet program_set{
      .programs = job.programs, .groups = ranks_of.MembersByRole(), .changes = job.changes};
  for (std::int32_t rank = 0; rank < ranks_of.world_size(); ++rank) {
    program_set.program_of.push_back(static_cast<std::uint32_t>(ranks_of.IndexOf(rank)));
  }
  const auto work_of = [&](const Graph& program, Graph::Index i) {
    return job.work[static_cast<std::size_t>(&program - job.programs.data())][i];
  };
  REPRISE_ASSIGN(ClassSimulation simulated, ModelClasses(program_set, work_of, DoesWork));
  ranks_ = ranks_of.world_size();
  steps_ = std::max<std::int64_t>(
      static_cast<std::int64_t>(job.programs.front().metadata().steps.size()), 1);
  std::vector<std::int64_t> longest_ns(static_cast<std::size_t>(steps_), 0);
  for (const RankClassTimes& own : simulated.classes) {
    LongestSteps(job.programs[own.program], own.first_node, simulated.schedule, longest_ns);
  }
  step_ns_ = std::accumulate(longest_ns.begin(), longest_ns.end(), std::int64_t{0}) / steps_;
  schedule_.emplace();  // no recorded step
  if (request.run_directory.empty()) {
    return {};
  }
  return WriteFolded(request, set, job, std::move(simulated));
}

Status SetSimulation::WriteFolded(const SimulationRequest& request, const TraceSet& set,
                                  const FoldedJob& job, ClassSimulation&& simulated) {
  sources_ = std::move(simulated.source);
  ScheduledRanks scheduled{.trace_hash = job.trace_hash};
  const std::vector<std::string> members = MembersOf(simulated);
  const std::span<const std::int64_t> transfer_ns = simulated.timing.transfer_ns;
  for (const RankClassTimes& own : simulated.classes) {
    const Graph& program = job.programs[own.program];
    REPRISE_ASSIGN(
        scheduled.collectives.emplace_back(),
        CollectivesOf(program, *job.classes,
                      job.classes->classes()[own.program].ranks.front().first,
                      transfer_ns.empty() ? transfer_ns
                                          : transfer_ns.subspan(own.first_node, program.size())));
    scheduled.graphs.push_back(&program);
    scheduled.frames.push_back(job.described[own.program].frame);
    scheduled.blocks.push_back(job.described[own.program].Repetitions());
    scheduled.first.push_back(own.first_node);
    scheduled.facts.push_back(
        {.class_ranks = own.ranks, .class_members = members[scheduled.facts.size()]});
  }
  scheduled.describe = [&](std::size_t number) {
    return job.described[simulated.classes[number].program].All();
  };
  scheduled.schedule = std::move(simulated.schedule);
  return WriteSimulatedRun(request, set, AsSimulation(), scheduled);
}

}  // namespace reprise
