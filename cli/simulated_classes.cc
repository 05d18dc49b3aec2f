// SimulatedSet's part for folded sets: class files as programs, and a run of one rank a class.
#include <fmt/format.h>

#include <algorithm>

#include "cli/operator_work.h"
#include "cli/simulated_set.h"
#include "replayer/plan.h"
#include "simulator/class_simulation.h"

namespace reprise {
namespace {

// As the class's file has it: the group by its role, peer and root by position.
Status ToProgram(const RankClasses& classes, std::int32_t rank, CommSpec& spec) {
  for (const GroupRole& role : classes.roles()) {
    const std::optional<ProcessGroup> group = classes.GroupOf(role.role, rank);
    if (!group || group->id != spec.group) {
      continue;
    }
    spec.group = role.role;
    for (std::int32_t* const member : {&spec.peer, &spec.root}) {
      if (*member >= 0) {
        *member = static_cast<std::int32_t>(
            std::find(group->ranks.begin(), group->ranks.end(), *member) - group->ranks.begin());
      }
    }
    return {};
  }
  return BadInput(fmt::format("{}: a transfer of rank {} is in group {}, which has no role",
                              kRanksFile, rank, spec.group));
}

Result<Graph> ProgramOf(const Graph& graph, const RankClasses& classes, std::int32_t rank) {
  Status status;
  REPRISE_ASSIGN(Graph program,
                 graph.Rewrite(graph.metadata(), [&](Graph::Index /*i*/, Node& node) {
                   if (node.comm && status) {
                     status = ToProgram(classes, rank, *node.comm);
                   }
                   return true;
                 }));
  REPRISE_TRY(std::move(status));
  return program;
}

// Of every role, each group once.
std::map<std::string, std::vector<std::vector<std::int32_t>>> GroupsOf(const RankClasses& classes) {
  std::map<std::string, std::vector<std::vector<std::int32_t>>> groups;
  for (const GroupRole& role : classes.roles()) {
    std::vector<bool> seen(static_cast<std::size_t>(classes.world_size()));
    auto& of_role = groups[role.role];
    for (std::int32_t rank = 0; rank < classes.world_size(); ++rank) {
      if (seen[static_cast<std::size_t>(rank)]) {
        continue;
      }
      if (std::optional<ProcessGroup> group = classes.GroupOf(role.role, rank)) {
        for (const std::int32_t member : group->ranks) {
          seen[static_cast<std::size_t>(member)] = true;
        }
        of_role.push_back(std::move(group->ranks));
      }
    }
  }
  return groups;
}

ReplayOptions AllTimed() {
  ReplayOptions options;
  options.default_op_mode = options.default_comm_mode = ReplayMode::kTimed;
  options.assume_groups = true;
  return options;
}

}  // namespace

Status SimulatedSet::RunFolded(const ReplayRequest& request, const TraceSet& set, bool fold) {
  if (!options.to || options.jitter > 0) {
    return UsageError(
        "a folded set has no durations: --machine recorded and --jitter are for "
        "captured sets");
  }
  const RankClasses& ranks_of = *set.classes;
  std::vector<Graph> graphs;  // one rank of each class file
  std::vector<Graph> programs;
  std::vector<Plan> plans;
  std::vector<std::vector<OperatorWork>> work;
  for (const RankClass& file : ranks_of.classes()) {
    const std::int32_t rank = file.ranks.front().first;
    REPRISE_ASSIGN(Graph graph, Graph::Load(set.files.at(rank)));
    REPRISE_ASSIGN(Plan plan, BuildPlan(graph, AllTimed(), KernelRegistry::Builtin()));
    work.emplace_back();
    for (Graph::Index i = 0; i < graph.size(); ++i) {
      REPRISE_ASSIGN(work.back().emplace_back(), WorkOf(graph, plan, i));
    }
    REPRISE_ASSIGN(Graph program, ProgramOf(graph, ranks_of, rank));
    programs.push_back(std::move(program));
    graphs.push_back(std::move(graph));
    plans.push_back(std::move(plan));
  }
  ProgramSet program_set{.programs = programs, .groups = GroupsOf(ranks_of)};
  for (std::int32_t rank = 0; rank < ranks_of.world_size(); ++rank) {
    program_set.program_of.push_back(static_cast<std::uint32_t>(ranks_of.IndexOf(rank)));
  }
  const auto work_of = [&](const Graph& program, Graph::Index i) {
    return work[static_cast<std::size_t>(&program - programs.data())][i];
  };
  REPRISE_ASSIGN(ClassSimulation simulated, SimulateClasses(program_set,
                                                            {.machine = *options.to,
                                                             .slow_ranks = options.slow_ranks,
                                                             .slow_links = options.slow_links,
                                                             .fold = fold,
                                                             .slots = power.slots()},
                                                            work_of));
  REPRISE_TRY(power.Settle(*options.to, program_set, work_of, simulated));
  ranks = ranks_of.world_size();
  classes = static_cast<std::int64_t>(simulated.classes.size());
  sources = simulated.source;
  ScheduledClasses scheduled;
  steps =
      std::max<std::int64_t>(static_cast<std::int64_t>(graphs.front().metadata().steps.size()), 1);
  const auto own_ns = [&](std::uint32_t node) {
    return simulated.timing.transfer_ns.empty() ? 0 : simulated.timing.transfer_ns[node];
  };
  for (const RankClassTimes& own : simulated.classes) {
    const Graph& graph = graphs[own.program];
    idle.AddRank(graph, plans[own.program], simulated.schedule, own.first_node, own_ns, own.ranks);
    // A class's own copy: several may share a file.
    REPRISE_ASSIGN(Graph copy,
                   graph.Rewrite(graph.metadata(), [](Graph::Index, Node&) { return true; }));
    scheduled.graphs.push_back(std::move(copy));
    scheduled.plans.push_back(plans[own.program]);
    scheduled.first.push_back(own.first_node);
    scheduled.facts.push_back({{kFactClassRanks, std::to_string(own.ranks)},
                               {kFactClassFirstRank, std::to_string(own.first_rank)}});
    power.NamePeaks(graph, own.first_node);
    for (Graph::Index i = 0; i < graph.size(); ++i) {
      products_at_peak_ns += ProductNsAtPeak(options.to->device, work[own.program][i]) *
                             static_cast<double>(own.ranks);
      if (!plans[own.program].work[i].counts || graph.comm(i) != nullptr) {
        continue;
      }
      const OperatorWork& of_node = work[own.program][i];
      const std::int64_t ns = simulated.timing.duration_ns[own.first_node + i] * own.ranks;
      summary.operations_ns += ns;
      summary.known_ns += of_node.known ? ns : 0;
      summary.by_default_ns += RooflineOf(options.to->device, of_node).by_default ? ns : 0;
    }
  }
  scheduled.schedule = std::move(simulated.schedule);
  schedule.emplace();  // no recorded step
  return WriteScheduledClasses(request, set, Simulation(), std::move(scheduled));
}

}  // namespace reprise
