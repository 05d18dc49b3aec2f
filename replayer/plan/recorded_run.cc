#include "replayer/plan/recorded_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/version.h"
#include "et_schema/io.h"
#include "et_schema/trace_set.h"
#include "replayer/plan/graph_steps.h"
#include "replayer/plan/known_work.h"
#include "replayer/plan/node_origins.h"
#include "replayer/plan/plan.h"
#include "replayer/plan/recorded_times.h"
#include "replayer/plan/run_directory.h"

namespace reprise {
namespace {

// As the capture marks them, else one from the first start to the last end.
std::vector<StepRecord> StepsOf(const Graph& graph, const RankClock& clock) {
  std::vector<StepRecord> records;
  for (const Step& step : graph.metadata().steps) {
    records.push_back({.step = static_cast<std::int32_t>(records.size()),
                       .start_ns = clock.Map(step.start_ns),
                       .duration_ns = step.duration_ns});
  }
  if (records.empty() && graph.size() > 0) {
    std::int64_t first_ns = graph.start_ns(0);
    for (Graph::Index i = 1; i < graph.size(); ++i) {
      first_ns = std::min(first_ns, graph.start_ns(i));
    }
    records.push_back({.start_ns = clock.Map(first_ns), .duration_ns = RecordedStepNs(graph)});
  }
  return records;
}

using Groups = std::map<std::string, ProcessGroup>;

std::vector<CollectiveInfo> TransfersIn(const Graph& graph, const Plan& plan,
                                        const Groups& groups) {
  std::vector<CollectiveInfo> infos;
  for (const Graph::Index i : plan.transfers) {
    const CommSpec& spec = *graph.comm(i);
    const auto group = groups.find(spec.group);
    const std::size_t members = group == groups.end() ? 1 : group->second.ranks.size();
    infos.push_back({.node_id = graph.id(i),
                     .spec = spec,
                     .group_size = static_cast<std::int32_t>(std::max<std::size_t>(members, 1)),
                     .transfer_ns = graph.transfer_ns(i)});
  }
  return infos;
}

// The rank's devices that its capture sampled. A device that the capture does not place has a name
// of the rank's own.
void AddSamples(const TraceMetadata& metadata, const RankClock& clock, RankData& data) {
  std::set<std::int32_t> devices;
  for (const SampledSeries& series : metadata.samples) {
    devices.insert(series.device);
  }
  const std::string bus_id =
      devices.size() == 1 ? NormalizePciBusId(metadata.placement.pci_bus_id) : std::string();
  const auto name = [&](std::int32_t device) {
    return bus_id.empty() ? fmt::format("rank-{}-gpu-{}", metadata.rank, device)
                          : fmt::format("gpu-{}", bus_id);
  };
  constexpr const char* kSource = "capture";
  for (const std::int32_t device : devices) {
    // By one of the two, what is sampled is known to be what the rank computes on.
    const std::string own = bus_id.empty() ? name(device) : std::string();
    data.devices.push_back({.device = name(device),
                            .backend = kSource,
                            .name = metadata.machine.device,
                            .uuid = own,
                            .pci_bus_id = bus_id,
                            .placement = metadata.placement.device});
    data.meters.push_back({.device = name(device),
                           .source = kSource,
                           .name = metadata.machine.device,
                           .uuid = own,
                           .pci_bus_id = bus_id});
  }
  for (const SampledSeries& series : metadata.samples) {
    const auto id = static_cast<std::int32_t>(data.metrics.size());
    data.metrics.push_back({.id = id,
                            .name = std::string(Name(series.quantity)),
                            .unit = std::string(UnitOf(series.quantity)),
                            .device = name(series.device),
                            .source = kSource});
    for (std::size_t i = 0; i < series.times_ns.size(); ++i) {
      data.samples.push_back({.metric = id,
                              .time_ns = clock.Map(series.times_ns[i]),
                              .value = static_cast<double>(series.millionths[i]) * 1e-6});
    }
  }
}

RankFacts FactsOf(const Graph& graph) {
  RankFacts facts = TraceFacts(graph, /*times=*/true);
  const RecordedMachine& machine = graph.metadata().machine;
  facts.host = graph.metadata().placement.host;
  facts.device = machine.device;
  facts.processor = machine.processor;
  facts.computes_on = machine.device.empty() ? "cpu" : machine.device;
  facts.compute_threads = facts.recorded_threads;
  for (const auto& [name, count] : graph.metadata().diagnostics) {
    facts.trace_counters.emplace_back(name, count);
  }
  return facts;
}

Result<RankData> RankOf(const Graph& graph, const Groups& groups, std::int64_t origin_ns) {
  PlanOptions options;
  options.default_op_mode = options.default_comm_mode = ReplayMode::kTimed;
  options.assume_groups = true;
  REPRISE_ASSIGN(const Plan plan, BuildPlan(graph, options));
  REPRISE_ASSIGN(std::vector<NodeOrigin> origins, OriginsOf(graph));
  const RankClock clock = RankClock::Of(graph.metadata(), origin_ns);
  const RecordedTimes times = RecordedTimesOf(graph, clock);
  RankData data{.rank = graph.metadata().rank,
                .nodes = DescribeNodes(graph, plan),
                .origins = std::move(origins),
                .weights = CountWeights(graph),
                .placement = graph.metadata().placement,
                .edges = DescribeEdges(graph),
                .collectives = TransfersIn(graph, plan, groups),
                .steps = StepsOf(graph, clock),
                .host = graph.metadata().placement.host,
                .closed = true,
                .facts = FactsOf(graph),
                .clock_uncertainty_ns = graph.metadata().clock_uncertainty_ns};
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    data.records.push_back({.node_id = graph.id(i),
                            .step = plan.work[i].step,
                            .mode = plan.work[i].counts ? ReplayMode::kReal : ReplayMode::kTimed,
                            .start_ns = times.start_ns[i],
                            .duration_ns = graph.duration_ns(i)});
  }
  AddSamples(graph.metadata(), clock, data);
  return data;
}

// Two ranks on one device both sampled it: the first is enough.
void LeaveOutTwice(RankData& data, std::set<std::pair<std::string, std::string>>& metered) {
  std::erase_if(data.meters, [&](const MeteredDevice& meter) {
    const bool again = !metered.emplace(data.host, meter.device).second;
    if (again) {
      std::set<std::int32_t> ids;
      std::erase_if(data.metrics, [&](const Metric& metric) {
        return metric.device == meter.device && ids.insert(metric.id).second;
      });
      std::erase_if(data.samples,
                    [&](const Sample& sample) { return ids.contains(sample.metric); });
    }
    return again;
  });
}

}  // namespace

Result<RunData> ReadRecordedRun(const std::string& path) {
  REPRISE_ASSIGN(const TraceSet set, TraceSet::OpenPresent(path));
  REPRISE_TRY(set.CheckRankByRank("what is asked for needs the nodes of every rank",
                                  "simulate the set, and take the run"));
  std::vector<Graph> graphs;
  std::vector<const Graph*> pointers;
  const std::map<std::int32_t, std::string> files = set.RankPaths();
  graphs.reserve(files.size());
  for (const auto& [rank, file] : files) {
    REPRISE_TRY(set.VerifyFile(rank));
    REPRISE_ASSIGN(Graph graph, Graph::Load(file));
    graphs.push_back(std::move(graph));
    pointers.push_back(&graphs.back());
  }
  if (std::ranges::none_of(graphs, HasDurations)) {
    return BadInput(
        fmt::format("{}: no times are recorded in it; reprise simulate {} -o RUN --machine NAME "
                    "models them",
                    path, path));
  }
  RunData run;
  RunManifest& manifest = run.manifest;
  manifest.reprise_version = kVersion;
  const Provenance provenance = ProvenanceOf({.set_directory = set.directory});
  manifest.provenance = Name(provenance);
  manifest.trace_path = provenance == Provenance::kFull ? path : "";
  manifest.trace_name = set.name;
  REPRISE_ASSIGN(manifest.trace_hash, set.ContentHash());
  manifest.world_size = set.world_size;
  manifest.options = {{"mode", kRecordedMode}, {"source", graphs.front().metadata().source}};
  manifest.complete = true;
  if (!set.missing.empty()) {
    run.notes.push_back(set.MissingRanks());
  }
  const std::int64_t origin_ns = OriginNs(pointers);
  const Groups groups = set.Groups();
  const auto ranks = static_cast<std::size_t>(files.rbegin()->first) + 1;
  std::set<std::pair<std::string, std::string>> metered;  // host and device
  manifest.hosts.resize(ranks);
  manifest.devices.resize(ranks);
  for (const auto& [rank, file] : files) {
    const Graph& graph = *pointers[run.ranks.size()];
    REPRISE_ASSIGN(RankData data, RankOf(graph, groups, origin_ns));
    data.rank = rank;
    LeaveOutTwice(data, metered);
    manifest.hosts[static_cast<std::size_t>(rank)] = data.host;
    manifest.devices[static_cast<std::size_t>(rank)] = data.facts.device;
    manifest.untraced_step_ns =
        std::max(manifest.untraced_step_ns, graph.metadata().untraced_step_ns);
    run.ranks.push_back(std::move(data));
  }
  return run;
}

}  // namespace reprise
