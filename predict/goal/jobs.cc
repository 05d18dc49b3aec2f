#include "predict/goal/jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

#include "core/counted.h"
#include "core/shown_text.h"
#include "et_schema/trace_set.h"
#include "predict/goal/check.h"
#include "predict/set_simulation.h"
#include "predict/workload/job/facts.h"
#include "replayer/plan/simulated_run.h"

namespace reprise {
namespace {

// By Reprise's own simulation of it.
Result<goal::RankSchedules> GoalOfDirectory(const GoalRequest& request,
                                            const std::string& directory, std::uint32_t& first_tag,
                                            GoalReport& report) {
  if (request.plan.part.ranks.empty()) {
    REPRISE_ASSIGN(const TraceSet set, TraceSet::OpenPresent(directory));
    REPRISE_TRY(set.CheckRankByRank("a GOAL schedule has the operations of every rank",
                                    "choose some with --ranks, or generate the job with fewer "
                                    "data-parallel ranks"));
  }
  SetSimulation simulation(request.machine);
  if (request.plan.part.ranks.empty() && request.plan.part.steps.empty()) {
    REPRISE_ASSIGN(std::optional<JobFacts> facts, ReadJobFacts(directory));
    if (facts) {
      REPRISE_TRY(simulation.SetJob(std::move(*facts)));
    }
  }
  Simulation hooks = simulation.AsSimulation();
  Result<goal::RankSchedules> ranks = goal::RankSchedules();
  hooks.scheduled = [&](const SimulatedSet& set, const Schedule& schedule) {
    ranks = GoalOfSet(set, schedule, request.options, first_tag, report);
  };
  SimulationRequest of_set;
  of_set.set_directory = directory;
  of_set.options = request.plan;
  REPRISE_TRY(SimulateRanks(of_set, hooks));
  return ranks;
}

Status CheckPlaces(const GoalJob& job, std::size_t ranks) {
  if (job.nodes.size() != ranks) {
    return UsageError(fmt::format("--place gives {} {}, and it has {}: one node for each rank",
                                  ShownText(job.set_directory), Counted(job.nodes.size(), "node"),
                                  Counted(ranks, "rank")));
  }
  return {};
}

std::size_t CpusOf(const goal::RankSchedule& node) {
  std::size_t cpus = 0;
  for (const goal::Operation& operation : node.operations) {
    cpus = std::max(cpus, operation.cpu + std::size_t{1});
  }
  return cpus;
}

// Beside what the node does already.
Status Put(const goal::RankSchedule& rank, const GoalJob& job, std::int32_t number,
           goal::RankSchedule& node) {
  const std::size_t cpus = CpusOf(node);
  const auto before = static_cast<std::uint32_t>(node.operations.size());
  for (goal::Operation operation : rank.operations) {
    if (operation.cpu + cpus >= goal::kMostCpus) {
      return UsageError(fmt::format(
          "the jobs on node {} need more than {} cpus, and GOAL numbers no more; place them on "
          "other nodes, or give --cpus one",
          number, goal::kMostCpus));
    }
    operation.cpu = static_cast<std::uint8_t>(operation.cpu + cpus);
    if (operation.kind != goal::OperationKind::kCalc) {
      operation.peer = static_cast<std::uint32_t>(job.nodes[operation.peer]);
    }
    node.operations.push_back(operation);
  }
  for (const goal::Edge& edge : rank.edges) {
    node.edges.push_back({edge.waits + before, edge.on + before});
  }
  return {};
}

}  // namespace

Result<goal::RankSchedules> GoalOfJobs(const GoalRequest& request, const std::vector<GoalJob>& jobs,
                                       GoalReport& report) {
  goal::RankSchedules nodes;
  std::uint32_t first_tag = 0;
  for (GoalJob job : jobs) {
    REPRISE_ASSIGN(goal::RankSchedules ranks,
                   GoalOfDirectory(request, job.set_directory, first_tag, report));
    if (job.nodes.empty()) {
      job.nodes.resize(ranks.size());
      std::iota(job.nodes.begin(), job.nodes.end(), static_cast<std::int32_t>(nodes.size()));
    }
    REPRISE_TRY(CheckPlaces(job, ranks.size()));
    const auto last = static_cast<std::size_t>(*std::ranges::max_element(job.nodes));
    nodes.resize(std::max(nodes.size(), last + 1));
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const std::int32_t number = job.nodes[rank];
      REPRISE_TRY(Put(ranks[rank], job, number, nodes[static_cast<std::size_t>(number)]));
      ranks[rank] = {};
    }
  }
  report.nodes = nodes.size();
  for (const goal::RankSchedule& node : nodes) {
    report.cpus = std::max<std::uint64_t>(report.cpus, CpusOf(node));
  }
  REPRISE_TRY(CheckEnds(nodes));
  return nodes;
}

}  // namespace reprise
