// A set's schedule on a simulated clock, as a run. Nothing is executed; every time is modelled.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/records.h"
#include "core/timing/dry_run.h"
#include "core/timing/steps.h"
#include "et_schema/graph.h"
#include "et_schema/trace_set.h"
#include "replayer/plan/plan.h"
#include "replayer/plan/rank_mapping.h"
#include "replayer/plan/run_request.h"
#include "report/run/run.h"

namespace reprise {

struct SimulationRequest : RunRequest {
  PlanOptions options;
};

// All replayed ranks before their schedule is computed. `first`: index of each rank's first node in
// `timing`, and the end. Durations, delays and transfer times of `timing` may be replaced, and
// nodes put behind those of the ranks.
struct SimulatedSet {
  std::span<const Graph> graphs;
  std::span<const Plan> plans;
  std::span<const std::uint32_t> first;
  const RankMapping& mapping;
  const PlanOptions& options;
  TimingGraph& timing;
};

// What a simulation replaces, and how its run is labelled.
struct Simulation {
  // Called once; its error ends the simulation. Empty: times stay.
  std::function<Status(const SimulatedSet& set)> replace_times;
  // In place of the dry run's schedule of these times, for sets whose times do not come from a
  // recording; nothing: the dry run's (core/timing/dry_run.h). Parallel to `timing`.
  std::function<std::optional<Schedule>()> schedule;
  // Called when the schedule is known; may be empty.
  std::function<void(const SimulatedSet& set, const Schedule& schedule)> scheduled;
  // Called afterwards for each node of `timing`: returns the source of its time. May be empty.
  std::function<TimeSource(std::uint32_t node)> time_source;
  // For the manifest, read afterwards.
  std::function<std::map<std::string, std::string>()> options;
  std::string device;  // of every rank
  // Writes modelled telemetry of a rank of the run; `blocks` are the rank's. Empty: there is none.
  std::function<void(std::size_t rank, std::span<const std::uint64_t> blocks, RankWriter& writer)>
      telemetry;
};

// What is known of a simulated run when it is written: a graph for each rank, or for each class of
// equal ranks.
struct ScheduledRanks {
  std::vector<const Graph*> graphs;
  // The nodes of a graph as the plan has them (DescribeNodes), each once. Any thread.
  std::function<std::vector<NodeInfo>(std::size_t graph)> describe;
  std::vector<StepFrame> frames;  // by graph
  // By graph, ascending: ids of nodes with which blocks begin that may be alike. A run stores
  // blocks that are alike once (report/run/row_blocks.h). Or empty.
  std::vector<std::vector<std::uint64_t>> blocks;
  std::vector<std::uint32_t> first;  // of each graph's nodes in the schedule
  Schedule schedule;
  bool recorded = false;                                 // the set has times
  std::vector<std::vector<CollectiveInfo>> collectives;  // by graph
  std::vector<RankFacts> facts;                          // by graph, besides the usual; or empty
  std::string trace_hash;  // of a set that is in no directory; empty: the set's files'
};
// Writes a run with one rank for each graph. `simulation` names times and options; `part` has more
// of these, which do not replace its own.
[[nodiscard]] Status WriteSimulatedRun(const SimulationRequest& request, const TraceSet& set,
                                       const Simulation& simulation, const ScheduledRanks& ranks,
                                       const std::map<std::string, std::string>& part = {});

// Needs no device and no MPI: one process simulates all chosen ranks, and writes the run; without
// a run directory none. Durations are the recorded ones × --time-scale, of what --ops and --comms
// skip 0; gaps follow --host-gaps. Other modes than skipped are timed.
[[nodiscard]] Result<ReplayOutcome> SimulateRanks(const SimulationRequest& request,
                                                  const Simulation& simulation);

}  // namespace reprise
