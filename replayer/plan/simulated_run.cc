#include "replayer/plan/simulated_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/nanoseconds.h"
#include "core/parallel.h"
#include "core/timing/dry_run.h"
#include "core/timing/wiring.h"
#include "core/version.h"
#include "et_schema/trace_set.h"
#include "replayer/plan/graph_steps.h"
#include "replayer/plan/part.h"
#include "replayer/plan/pauses.h"
#include "replayer/plan/plan.h"
#include "replayer/plan/run_directory.h"
#include "replayer/plan/timing_graph.h"
#include "report/run/row_blocks.h"
#include "report/run/run.h"

namespace reprise {
namespace {

// Every node takes its simulated time, or is skipped; the plan decides which nodes count.
PlanOptions AllTimed(PlanOptions options) {
  const auto time = [](ReplayMode& mode) {
    mode = mode == ReplayMode::kSkip ? ReplayMode::kSkip : ReplayMode::kTimed;
  };
  time(options.default_op_mode);
  time(options.default_comm_mode);
  for (auto& [op_class, mode] : options.op_modes) {
    time(mode);
  }
  for (auto& [kind, mode] : options.comm_modes) {
    time(mode);
  }
  options.assume_groups = true;
  return options;
}

// A graph and a plan for each rank.
struct LoadedRanks {
  std::vector<Graph> graphs;
  std::vector<Plan> plans;
};

Result<PartCounts> LoadAll(const TraceSet& set, const RankMapping& mapping,
                           const PlanOptions& options, LoadedRanks& loaded,
                           ScheduledRanks& simulated) {
  PartCounts counts;
  std::vector<std::vector<PlannedTransfer>> transfers;
  for (std::size_t rank = 0; rank < mapping.replayed.size(); ++rank) {
    REPRISE_ASSIGN(RankPart part, LoadPart(set, mapping, static_cast<std::int32_t>(rank), options));
    REPRISE_ASSIGN(Plan plan, BuildPlan(part.graph, AllTimed(options)));
    counts.Add(CountPart(part, plan, options));
    transfers.push_back(TransfersOf(part.graph, plan));
    loaded.graphs.push_back(std::move(part.graph));
    simulated.frames.push_back(plan.frame);
    loaded.plans.push_back(std::move(plan));
  }
  for (const Graph& graph : loaded.graphs) {
    simulated.graphs.push_back(&graph);
  }
  simulated.describe = [&loaded](std::size_t rank) {
    return DescribeNodes(loaded.graphs[rank], loaded.plans[rank]);
  };
  // Whole sets are simulated as they are, with what does not match counted by `validate`.
  const bool whole = !mapping.changes && options.part.steps.empty() && options.part.range.empty();
  if (!whole) {
    REPRISE_TRY(AgreeOnTransfers(transfers, mapping, options.part));
  }
  for (std::vector<PlannedTransfer>& of_rank : transfers) {
    auto& infos = simulated.collectives.emplace_back();
    for (PlannedTransfer& transfer : of_rank) {
      const auto members = std::max<std::size_t>(mapping.RanksOf(transfer.spec.group).size(), 1);
      infos.push_back({.node_id = transfer.node_id,
                       .spec = std::move(transfer.spec),
                       .group_size = static_cast<std::int32_t>(members)});
    }
  }
  return counts;
}

// What each matched transfer took once all that it needs had come.
void KeepTransferTimes(const TimingGraph& timing, ScheduledRanks& simulated) {
  for (std::size_t rank = 0; rank < simulated.graphs.size(); ++rank) {
    for (CollectiveInfo& info : simulated.collectives[rank]) {
      const std::uint32_t node =
          simulated.first[rank] + *simulated.graphs[rank]->FindId(info.node_id);
      if (MatchOf(timing, node) >= 0) {
        info.transfer_ns = timing.transfer_ns[node];
      }
    }
  }
}

Status Simulate(const PlanOptions& options, const RankMapping& mapping,
                const Simulation& simulation, const LoadedRanks& loaded,
                ScheduledRanks& simulated) {
  TimingTrace trace = TimingOfSet(simulated.graphs);
  simulated.first = trace.first;
  TimingGraph& timing = trace.graph;
  const SimulatedSet set{loaded.graphs, loaded.plans, simulated.first, mapping, options, timing};
  const auto scale = [](std::int64_t& value_ns, double factor) {
    value_ns = value_ns < 0 ? value_ns : NsOf(static_cast<double>(value_ns) * factor);
  };
  const auto skip = [&] {
    for (std::uint32_t node = 0; node < trace.first.back(); ++node) {
      const auto [rank, i] = trace.Locate(node);
      if (loaded.plans[rank].work[i].mode == ReplayMode::kSkip) {
        timing.duration_ns[node] = timing.transfer_ns[node] = 0;
      }
    }
  };
  const bool untraced = options.host_gaps == HostGaps::kUntraced;
  std::vector<double> pause_factors;  // by rank
  for (const Graph& graph : loaded.graphs) {
    pause_factors.push_back(untraced ? PauseFactor(graph) : 1);
  }
  for (std::uint32_t node = 0; node < timing.duration_ns.size(); ++node) {
    const auto [rank, i] = trace.Locate(node);
    const Graph& graph = loaded.graphs[rank];
    const double factor =
        options.TimeScaleOf(graph.comm(i) != nullptr ? OpClass::kComm : graph.op_class(i));
    if (untraced) {
      timing.duration_ns[node] -= graph.tracing_ns(i);
      timing.delay_ns[node] -= graph.tracing_delay_ns(i);
    }
    scale(timing.duration_ns[node], IsPause(graph, i) ? factor * pause_factors[rank] : factor);
    scale(timing.transfer_ns[node], factor);
    scale(timing.delay_ns[node], options.GapFactor() * pause_factors[rank]);
  }
  skip();
  if (simulation.replace_times) {
    REPRISE_TRY(simulation.replace_times(set));
    skip();  // a machine has times for what was recorded without one
  }
  if (std::optional<Schedule> other = simulation.schedule ? simulation.schedule() : std::nullopt) {
    simulated.schedule = std::move(*other);
  } else {
    simulated.recorded = true;
    REPRISE_ASSIGN(simulated.schedule, DryRun(timing));
  }
  if (simulation.scheduled) {
    simulation.scheduled(set, simulated.schedule);
  }
  KeepTransferTimes(timing, simulated);
  return {};
}

std::vector<StepRecord> StepsOf(const ScheduledRanks& simulated, std::size_t rank) {
  const Graph& graph = *simulated.graphs[rank];
  const auto own = [&](const std::vector<std::int64_t>& times_ns) {
    return std::span(times_ns).subspan(simulated.first[rank], graph.size());
  };
  const std::vector<std::int32_t> step = StepsOfNodes(graph);
  const StepNodes nodes{step, own(simulated.schedule.start_ns), own(simulated.schedule.end_ns)};
  std::vector<StepRecord> steps;
  for (const auto& [begin, end] : StepSpans(simulated.frames[rank], nodes)) {
    steps.push_back({0, false, static_cast<std::int32_t>(steps.size()), begin, end - begin});
  }
  return steps;
}

Status WriteRank(const SimulationRequest& request, const Simulation& simulation,
                 const ScheduledRanks& simulated, std::size_t rank) {
  const Graph& graph = *simulated.graphs[rank];
  REPRISE_ASSIGN(auto writer, RankWriter::Create(request.run_directory, static_cast<int>(rank),
                                                 {.provenance = ProvenanceOf(request)}));
  std::vector<NodeInfo> infos = simulated.describe(rank);
  std::vector<NodeRecord> records;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    NodeInfo& info = infos[i];
    const std::size_t at = simulated.first[rank] + i;
    if (simulation.time_source) {
      info.time_from = simulation.time_source(static_cast<std::uint32_t>(at));
    }
    const std::int64_t start_ns = simulated.schedule.start_ns[at];
    if (info.counts_for_coverage && info.mode != ReplayMode::kSkip) {
      records.push_back({info.node_id, 0, info.step, ReplayMode::kTimed, start_ns,
                         simulated.schedule.end_ns[at] - start_ns});
    }
  }
  std::span<const std::uint64_t> blocks;
  if (!simulated.blocks.empty()) {
    blocks = simulated.blocks[rank];
  }
  AppendBlocks(*writer, std::move(infos), &NodeInfo::node_id, blocks);
  AppendBlocks(*writer, DescribeEdges(graph), &EdgeInfo::to, blocks);
  AppendBlocks(*writer, std::vector(simulated.collectives[rank]), &CollectiveInfo::node_id, blocks);
  AppendBlocks(*writer, std::move(records), &NodeRecord::node_id, blocks);
  writer->Append(StepsOf(simulated, rank));
  writer->SetFacts({.modelled = true});
  writer->SetFacts(TraceFacts(graph, simulated.recorded));
  if (!simulated.facts.empty()) {
    writer->SetFacts(simulated.facts[rank]);
  }
  if (simulation.telemetry) {
    simulation.telemetry(rank, blocks, *writer);
  }
  return writer->Close();
}

// Ranks have files of their own.
Status WriteRanks(const SimulationRequest& request, const Simulation& simulation,
                  const ScheduledRanks& simulated) {
  std::vector<Status> written(simulated.graphs.size());
  ForEachInParallel(written.size(), [&](std::size_t rank) {
    written[rank] = WriteRank(request, simulation, simulated, rank);
  });
  for (Status& status : written) {
    REPRISE_TRY(std::move(status));
  }
  return {};
}

}  // namespace

Status WriteSimulatedRun(const SimulationRequest& request, const TraceSet& set,
                         const Simulation& simulation, const ScheduledRanks& simulated,
                         const std::map<std::string, std::string>& part) {
  REPRISE_TRY(PrepareRunDirectory(request.run_directory, request.force));
  const std::size_t ranks = simulated.graphs.size();
  RunManifest manifest;
  manifest.reprise_version = kVersion;
  manifest.command = request.command_line;
  manifest.trace_path = request.set_directory;
  manifest.trace_name = set.name;
  manifest.started_at = UtcNow();
  manifest.provenance = Name(ProvenanceOf(request));
  manifest.world_size = static_cast<std::int32_t>(ranks);
  manifest.options = {{"mode", kSimulateMode},
                      {"time_scale", fmt::format("{}", request.options.time_scale)}};
  if (simulation.options) {
    for (const auto& [name, value] : simulation.options()) {
      manifest.options.insert_or_assign(name, value);
    }
  }
  for (const auto& [name, value] : part) {
    manifest.options.try_emplace(name, value);
  }
  manifest.hosts.assign(ranks, "simulated");
  manifest.devices.assign(
      ranks, fmt::format("{} (modelled)", simulation.device.empty() ? "none" : simulation.device));
  REPRISE_TRY(WriteRanks(request, simulation, simulated));
  for (const Graph* const graph : simulated.graphs) {
    if (simulated.recorded) {
      manifest.recorded_step_ns = std::max(manifest.recorded_step_ns, RecordedStepNs(*graph));
    }
    manifest.untraced_step_ns =
        std::max(manifest.untraced_step_ns, graph->metadata().untraced_step_ns);
  }
  manifest.trace_hash = simulated.trace_hash;
  if (manifest.trace_hash.empty()) {
    REPRISE_ASSIGN(manifest.trace_hash, set.ContentHash());
  }
  REPRISE_TRY(WriteManifest(request.run_directory, manifest));
  return MergeRun(request.run_directory);
}

Result<ReplayOutcome> SimulateRanks(const SimulationRequest& request,
                                    const Simulation& simulation) {
  PlanOptions options = request.options;
  REPRISE_ASSIGN(const TraceSet set, OpenChosen(request.set_directory, options.part));
  REPRISE_ASSIGN(const RankMapping mapping, MapRanks(set, options, 1));
  if (!mapping.changes) {
    REPRISE_TRY(set.CheckRankByRank(
        "a simulation of steps or of a range holds the nodes of every rank",
        "choose some with --ranks, or simulate the whole set, which takes each class once"));
  }
  LoadedRanks loaded;
  ScheduledRanks simulated;
  REPRISE_ASSIGN(PartCounts counts, LoadAll(set, mapping, options, loaded, simulated));
  if (simulation.replace_times) {
    counts.untimed = 0;  // what replaces times says what it did without them
  }
  REPRISE_TRY(Simulate(options, mapping, simulation, loaded, simulated));
  std::map<std::string, std::string> part = DescribePart(options, mapping);
  std::map<std::string, std::string> modes = DescribeModes(options);
  std::erase_if(modes, [](const auto& mode) { return mode.second != Name(ReplayMode::kSkip); });
  part.merge(modes);
  part.merge(DescribeTimes(options));
  if (!request.run_directory.empty()) {
    REPRISE_TRY(WriteSimulatedRun(request, set, simulation, simulated, part));
  }
  return ReplayOutcome{.notes = PartNotes(options, set, mapping, counts)};
}

}  // namespace reprise
