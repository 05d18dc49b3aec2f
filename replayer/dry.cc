#include "replayer/dry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/version.h"
#include "et_schema/trace_set.h"
#include "replayer/plan.h"
#include "replayer/run_directory.h"
#include "replayer/timing_graph.h"
#include "run/run.h"
#include "timing/dry_run.h"

namespace reprise {
namespace {

struct SimulatedSet {
  std::vector<Graph> graphs;  // by rank
  TimingTrace timing;
  Schedule schedule;
};

Result<SimulatedSet> Simulate(const TraceSet& set, const ReplayOptions& options) {
  SimulatedSet simulated;
  std::vector<const Graph*> pointers;
  for (const auto& [rank, path] : set.files) {
    auto graph = Graph::Load(path);
    if (!graph) {
      return tl::unexpected<Error>(graph.error());
    }
    simulated.graphs.push_back(std::move(*graph));
  }
  for (const Graph& graph : simulated.graphs) {
    pointers.push_back(&graph);
  }
  simulated.timing = TimingOfSet(pointers);
  TimingGraph& timing = simulated.timing.graph;
  const auto scale = [](std::vector<std::int64_t>& values_ns, double factor) {
    for (std::int64_t& value_ns : values_ns) {
      value_ns = value_ns < 0 ? value_ns : std::llround(static_cast<double>(value_ns) * factor);
    }
  };
  scale(timing.duration_ns, options.time_scale);
  scale(timing.transfer_ns, options.time_scale);
  scale(timing.delay_ns, options.GapFactor());
  REPRISE_ASSIGN(simulated.schedule, DryRun(timing));
  return simulated;
}

// What every node "did": its simulated times; the plan only says what counts.
Status WriteRank(const ReplayRequest& request, const SimulatedSet& simulated, std::size_t rank,
                 std::int64_t& step_ns) {
  const Graph& graph = simulated.graphs[rank];
  ReplayOptions options = request.options;
  options.default_op_mode = options.default_comm_mode = ReplayMode::kTimed;
  options.op_modes.clear();
  options.comm_modes.clear();
  options.assume_groups = true;
  REPRISE_ASSIGN(const Plan plan, BuildPlan(graph, options, KernelRegistry::Builtin()));
  REPRISE_ASSIGN(auto writer, RankWriter::Create(request.run_directory, static_cast<int>(rank)));
  writer->AppendNodes(DescribeNodes(graph, plan));
  writer->AppendEdges(DescribeEdges(graph));
  std::vector<NodeRecord> records;
  std::int64_t begin_ns = INT64_MAX;
  std::int64_t end_ns = 0;
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    const std::uint32_t at = simulated.timing.first[rank] + i;
    const std::int64_t start_ns = simulated.schedule.start_ns[at];
    begin_ns = std::min(begin_ns, start_ns);
    end_ns = std::max(end_ns, simulated.schedule.end_ns[at]);
    if (plan.work[i].counts) {
      records.push_back({graph.id(i), 0, plan.work[i].step, ReplayMode::kTimed, start_ns,
                         simulated.schedule.end_ns[at] - start_ns});
    }
  }
  writer->AppendRecords(std::move(records));
  writer->AppendStep({0, false, 0, begin_ns, end_ns - begin_ns});
  writer->SetFact("modelled", "true");
  if (!graph.metadata().steps.empty()) {
    writer->SetFact(kFactFirstStepNs, std::to_string(graph.metadata().steps.front().start_ns));
  }
  writer->SetFact(kFactRecordedStepNs, std::to_string(RecordedStepNs(graph)));
  writer->SetFact(kFactTraceBaseNs,
                  std::to_string(graph.metadata().base_ns + graph.metadata().clock_offset_ns));
  step_ns = std::max(step_ns, end_ns - begin_ns);
  return writer->Close();
}

Status DryOnOneRank(const ReplayRequest& request) {
  REPRISE_ASSIGN(const TraceSet set, TraceSet::Open(request.set_directory));
  REPRISE_ASSIGN(const SimulatedSet simulated, Simulate(set, request.options));
  REPRISE_TRY(PrepareRunDirectory(request.run_directory, request.force));
  RunManifest manifest;
  manifest.reprise_version = kVersion;
  manifest.command = request.command_line;
  manifest.trace_path = request.set_directory;
  manifest.trace_name = set.name;
  manifest.started_at = UtcNow();
  manifest.world_size = set.world_size;
  manifest.options = {{"mode", "dry"},
                      {"host_gap_factor", fmt::format("{}", request.options.GapFactor())},
                      {"time_scale", fmt::format("{}", request.options.time_scale)}};
  manifest.hosts.assign(set.files.size(), "simulated");
  manifest.devices.assign(set.files.size(), "none (modelled)");
  std::int64_t step_ns = 0;
  for (std::size_t rank = 0; rank < simulated.graphs.size(); ++rank) {
    REPRISE_TRY(WriteRank(request, simulated, rank, step_ns));
    const TraceMetadata& metadata = simulated.graphs[rank].metadata();
    for (const Step& step : metadata.steps) {
      manifest.recorded_step_ns = std::max(manifest.recorded_step_ns, step.duration_ns);
    }
    manifest.untraced_step_ns = std::max(manifest.untraced_step_ns, metadata.untraced_step_ns);
  }
  REPRISE_ASSIGN(manifest.trace_hash, set.ContentHash());
  REPRISE_TRY(WriteManifest(request.run_directory, manifest));
  return MergeRun(request.run_directory);
}

}  // namespace

tl::expected<ReplayOutcome, ReplayFailure> DryReplay(const ReplayRequest& request,
                                                     Communicator& communicator) {
  const Status mine = communicator.rank() == 0 ? DryOnOneRank(request) : Status{};
  if (const Status agreed = communicator.Agree(mine); !agreed) {
    return tl::unexpected<ReplayFailure>({agreed.error(), false});
  }
  return ReplayOutcome{};
}

}  // namespace reprise
