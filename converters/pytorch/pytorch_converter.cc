// PyTorch: host traces (ExecutionTraceObserver) linked with Kineto traces.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "converters/converter.h"
#include "converters/output_files.h"
#include "converters/pytorch/edges/device_items.h"
#include "converters/pytorch/edges/edges.h"
#include "converters/pytorch/edges/tracing_cost.h"
#include "converters/pytorch/edges/transfer_members.h"
#include "converters/pytorch/files/capture_files.h"
#include "converters/pytorch/groups/group_table.h"
#include "converters/pytorch/host/tensor_ranges.h"
#include "converters/pytorch/kept_ranks.h"
#include "converters/pytorch/kineto/counters.h"
#include "converters/pytorch/node_writer.h"
#include "converters/pytorch/rank/graph_twins.h"
#include "converters/pytorch/rank/identity.h"
#include "converters/pytorch/rank/told_rank.h"
#include "core/parallel.h"
#include "core/processes.h"
#include "et_schema/trace_set.h"

namespace reprise {
namespace pytorch {
namespace {

namespace fs = std::filesystem;

// Runs `body` for every index of the share at once; the error of the lowest index wins.
template <typename Body>
Status ForEachRank(ItemRange share, const Body& body) {
  std::vector<Status> outcomes(share.size());
  ForEachInParallel(share.size(), [&](std::size_t i) { outcomes[i] = body(share.begin + i); });
  for (Status& outcome : outcomes) {
    REPRISE_TRY(outcome);
  }
  return {};
}

// The graphs that were recorded while these Kineto traces were captured.
Result<RecordedGraphs> ReadGraphCaptures(const std::vector<std::string>& paths,
                                         Diagnostics& diagnostics) {
  RecordedGraphs graphs;
  for (const std::string& path : paths) {
    REPRISE_ASSIGN(RankCapture capture, ReadRank({.rank = -1, .kineto = path}));
    for (const auto& graph : capture.recorded_graphs) {
      graphs.push_back(graph);
    }
    if (capture.recorded_graphs.empty()) {
      return BadInput(fmt::format(
          "{}: holds no complete recording of a device graph; expected calls of "
          "cudaStreamBeginCapture and cudaStreamEndCapture (or hipStream...) with launches "
          "between them; profile with record_shapes while the graphs are recorded",
          path));
    }
    if (const std::uint64_t cut = capture.diagnostics.CountOf("graph_recording_cut"); cut > 0) {
      diagnostics.Count("graph_recording_cut", path, cut);
    }
  }
  return graphs;
}

// The kernels of these Kineto traces that ran without a graph.
Result<RecordedGraphs> ReadLike(const std::vector<std::string>& paths) {
  RecordedGraphs kernels;
  for (const std::string& path : paths) {
    REPRISE_ASSIGN(const RankCapture capture, ReadRank({.rank = -1, .kineto = path}));
    kernels.push_back(std::make_shared<const RecordedGraph>(TakeEagerKernels(capture)));
    if (kernels.back()->nodes.size() < EagerTwins::kStretch) {
      return BadInput(fmt::format(
          "{}: holds {} kernels outside of device graphs; expected at least {}, of the same "
          "program run without graphs",
          path, kernels.back()->nodes.size(), EagerTwins::kStretch));
    }
  }
  return kernels;
}

// One rank; FindBlockedWaits has looked at it.
Result<RankCapture> ReadOne(const RankFiles& files, RepeatChoice repeat,
                            const GraphSources& graphs) {
  REPRISE_ASSIGN(RankCapture rank, ReadRank(files, repeat, graphs));
  FindBlockedWaits(rank);
  return rank;
}

// All ranks: what other processes have read, or an earlier run, is there as it was told.
Result<std::vector<RankCapture>> ReadRanks(const std::vector<RankFiles>& files, RepeatChoice repeat,
                                           const GraphSources& graphs, KeptRanks& kept,
                                           Processes& processes) {
  std::vector<RankCapture> ranks(files.size());
  std::vector<std::string> told(files.size());
  const ItemRange own = OwnShare(processes, files.size());
  const Status read = ForEachRank(own, [&](std::size_t i) -> Status {
    if (std::optional<std::string> known = kept.Told(i)) {
      told[i] = *std::move(known);
      return {};
    }
    REPRISE_ASSIGN(ranks[i], ReadOne(files[i], repeat, graphs));
    if (processes.count() > 1 || kept.on()) {
      told[i] = TellRank(ranks[i]);
      REPRISE_TRY(kept.KeepTold(i, told[i]));
    }
    return {};
  });
  REPRISE_TRY(CompleteShares(processes, read, told));
  kept.SetAllTold(told);
  for (std::size_t i = 0; i < files.size(); ++i) {
    if ((i < own.begin || i >= own.end || kept.OnlyTold(i)) && !HearRank(told[i], ranks[i])) {
      return EnvironmentError(fmt::format(
          "{}: what another process of the job read of it cannot be understood", files[i].kineto));
    }
    told[i] = {};
  }
  return ranks;
}

Status CheckComplete(const std::string& directory, std::vector<RankCapture>& ranks) {
  for (RankCapture& rank : ranks) {
    if (rank.world_size < 0) {
      rank.world_size = static_cast<std::int32_t>(ranks.size());
    }
    if (static_cast<std::size_t>(rank.world_size) > ranks.size()) {
      return BadInput(fmt::format(
          "{}: rank {} is missing: {} was one of {} ranks, files of {} are there; copy the missing "
          "captures here, or convert one file",
          directory, ranks.size(), rank.label, rank.world_size, ranks.size()));
    }
    if (static_cast<std::size_t>(rank.world_size) < ranks.size()) {
      return BadInput(
          fmt::format("{}: {} was one of {} ranks, but files of {} are there; are they "
                      "of one run?",
                      directory, rank.label, rank.world_size, ranks.size()));
    }
  }
  return {};
}

TraceMetadata Describe(const RankCapture& rank, const ClockFit& clocks) {
  TraceMetadata metadata;
  metadata.rank = rank.rank;
  metadata.world_size = std::max(rank.world_size, rank.rank + 1);
  metadata.base_ns = rank.base_ns;
  metadata.source = !rank.files.profiler.empty() ? rank.files.profiler
                    : rank.host.schema == "none" ? "kineto alone"
                    : rank.kineto.untimed
                        ? fmt::format("pytorch host trace {} alone", rank.host.schema)
                        : fmt::format("pytorch host trace {} + kineto", rank.host.schema);
  metadata.link = rank.list.link;
  metadata.steps = rank.steps;
  metadata.ranges = rank.ranges;
  metadata.index_ranges = FindIndexRanges(rank.host);
  metadata.samples = SeriesOf(rank.kineto.counters, rank.base_ns);
  if (rank.kineto.untimed) {
    for (Step& step : metadata.steps) {
      step.start_ns = step.duration_ns = 0;
    }
  }
  metadata.untraced_step_ns = rank.meta.untraced_step_ns;
  metadata.untraced_page_faults = rank.meta.untraced_page_faults;
  metadata.machine = rank.meta.machine;
  if (metadata.machine.device.empty()) {
    metadata.machine.device = rank.kineto.device_name;
  }
  metadata.placement = rank.meta.placement;
  if (metadata.placement.host.empty()) {
    metadata.placement.host = rank.kineto.host_name;
  }
  const ClockModel& clock = clocks.clocks[static_cast<std::size_t>(rank.rank)];
  metadata.clock_offset_ns = clocks.OffsetAt(rank.rank, rank.base_ns);
  metadata.clock_drift = clock.drift;
  metadata.clock_uncertainty_ns = clock.uncertainty_ns;
  return metadata;
}

void CountTransfers(const std::vector<RankCapture>& ranks,
                    const std::map<std::string, ProcessGroup>& groups, ConvertReport& report) {
  for (const RankCapture& rank : ranks) {
    for (const TransferRecord& transfer : rank.transfers) {
      const CommSpec& spec = transfer.arguments.spec;
      report.recorded_groups += spec.certainty == GroupCertainty::kRecorded ? 1 : 0;
      report.inferred_groups += spec.certainty == GroupCertainty::kInferred ? 1 : 0;
      // One that lacks more is never carried out, and is counted for that.
      const std::string_view lacks = LacksOf(spec);
      const bool matters = lacks.empty() || lacks == kLacksGroup;
      report.unknown_groups += spec.certainty == GroupCertainty::kUnknown && matters ? 1 : 0;
      const auto group = groups.find(spec.group);
      if (group != groups.end()) {
        ++report.groups[fmt::format("{} ({})", group->first, group->second.description)];
      }
    }
  }
}

// What --strict does not let pass.
Status CheckCaptureLosses(const Diagnostics& diagnostics) {
  return RefuseLosses(diagnostics, {"operation_without_host_record",
                                    "host_record_without_time",
                                    "group_unknown",
                                    "transfer_mismatch",
                                    "transfer_without_call",
                                    "kineto_event_without_time",
                                    "duration_damaged",
                                    "kernel_without_launch",
                                    "xla_member_elsewhere",
                                    "duplicate_device_event",
                                    "transfer_kind_unknown",
                                    "transfer_size_unknown",
                                    "transfer_root_unknown",
                                    "transfer_peer_unknown",
                                    "transfer_splits_unknown",
                                    "group_members_unknown",
                                    "group_members_differ",
                                    "device_category_left_out",
                                    "no_times",
                                    "compiled_code",
                                    "graph_recording_cut",
                                    "graph_match_partial",
                                    "graph_recording_ambiguous",
                                    "graph_launch_unknown",
                                    "identity_unreadable",
                                    "linked_to_another_process",
                                    "linked_to_another_step",
                                    "files_start_apart",
                                    "ranks_recorded_apart",
                                    "ranks_of_other_steps",
                                    "ranks_of_other_jobs",
                                    "rank_recorded_twice"});
}

// What is the same for all ranks once they are matched.
struct MatchedRanks {
  const std::vector<RankFiles>& files;
  const ConvertRequest& request;
  const OutputFiles& output;
  const std::map<std::string, ProcessGroup>& groups;
  const ClockFit& clocks;
  const Diagnostics& diagnostics;
};

// One rank's file, of a rank that was read and matched.
Result<MadeRank> MakeRank(const MatchedRanks& all, RankCapture& rank, Timeline& timeline) {
  timeline = BuildTimeline(rank);
  FrameSteps(rank, timeline);
  AddEdges(rank, timeline);
  CompareDeviceTime(rank, timeline);
  const TracingCost cost = EstimateTracingCost(rank);
  SpreadTracingCost(rank, cost, timeline);
  MadeRank made{.diagnostics = rank.diagnostics.Snapshot()};
  TraceMetadata metadata = Describe(rank, all.clocks);
  metadata.tracing_call_ns = std::llround(cost.PerCall());
  if (!all.request.output_file.empty()) {  // which is in its place once it is written
    for (const auto& [id, group] : all.groups) {
      metadata.groups.push_back(group);
    }
    Diagnostics of_both = all.diagnostics;
    of_both.Merge(rank.diagnostics);
    REPRISE_TRY(all.request.strict ? CheckCaptureLosses(of_both) : Status());
  }
  REPRISE_ASSIGN(made.rank, WriteRank(rank, timeline, std::move(metadata), all.request.costs,
                                      all.output.Temporary(rank.rank), all.request.mem_nodes));
  made.rank.link = rank.list.link;
  return made;
}

// The same of one that an earlier run has read, so that it is read here.
Result<MadeRank> MakeToldRank(const MatchedRanks& all, const RankFiles& files,
                              const GraphSources& graphs, RankCapture& heard) {
  REPRISE_ASSIGN(RankCapture rank, ReadOne(files, all.request.repeat, graphs));
  if (!TakeFindings(heard, rank)) {
    return BadInput(fmt::format("{}: was changed while it was read; give --resume again",
                                files.kineto.empty() ? files.host : files.kineto));
  }
  Timeline timeline;
  return MakeRank(all, rank, timeline);
}

Result<ConvertReport> ConvertRanks(const std::vector<RankFiles>& files,
                                   const ConvertRequest& request, Processes& processes,
                                   OutputFiles& output) {
  struct Workspace {
    std::vector<RankCapture> ranks;
    std::vector<Timeline> timelines;
  };
  const auto workspace = std::make_shared<Workspace>();
  std::vector<RankCapture>& ranks = workspace->ranks;
  ConvertReport report;
  GraphSources graphs;
  KeptRanks kept(request, files, output);
  REPRISE_ASSIGN(graphs.recorded, ReadGraphCaptures(request.graph_captures, report.diagnostics));
  REPRISE_ASSIGN(graphs.like, ReadLike(request.like));
  REPRISE_ASSIGN(ranks, ReadRanks(files, request.repeat, graphs, kept, processes));
  if (!request.input_directory.empty()) {
    REPRISE_TRY(CheckComplete(request.input_directory, ranks));
  }
  report.workspace = workspace;
  REPRISE_TRY(CheckRanks(ranks, report.diagnostics));
  auto groups = AssignGroups(ranks, report.diagnostics);
  if (!request.output_file.empty()) {
    NameByContent(ranks, groups);
  }
  REPRISE_ASSIGN(const ClockFit clocks, MatchTransfers(ranks, groups, report.diagnostics));
  CountTransfers(ranks, groups, report);
  const MatchedRanks all{files, request, output, groups, clocks, report.diagnostics};
  std::vector<MadeRank> made(ranks.size());
  workspace->timelines.resize(ranks.size());
  const Status written =
      ForEachRank(OwnShare(processes, ranks.size()), [&](std::size_t i) -> Status {
        if (std::optional<MadeRank> whole = kept.TakeUp(i)) {
          made[i] = *std::move(whole);
        } else {
          REPRISE_ASSIGN(made[i], kept.OnlyTold(i)
                                      ? MakeToldRank(all, files[i], graphs, ranks[i])
                                      : MakeRank(all, ranks[i], workspace->timelines[i]));
          REPRISE_TRY(kept.KeepMade(i, made[i]));
        }
        made[i].rank.path = output.Final(ranks[i].rank);
        made[i].rank.host_trace = ranks[i].files.host;
        made[i].rank.device_trace = ranks[i].files.kineto;
        return {};
      });
  // What the ranks' own diagnostics say comes with the files, which --strict may refuse then.
  REPRISE_TRY(CompleteShares(processes, written, made));
  for (MadeRank& one : made) {
    report.diagnostics.Merge(Diagnostics(one.diagnostics));
    report.ranks.push_back(std::move(one.rank));
  }
  if (request.strict) {
    REPRISE_TRY(CheckCaptureLosses(report.diagnostics));
  }
  REPRISE_TRY(output.PublishTogether({}, report.ranks, groups, processes));
  report.resumed = output.Resumed(report.ranks);
  return report;
}

Result<ConvertReport> ConvertPyTorch(const ConvertRequest& request) {
  const bool whole_set = !request.input_directory.empty();
  const bool shared = whole_set && request.processes != nullptr;
  Processes& processes = shared ? *request.processes : OneProcess();
  std::vector<RankFiles> files;
  std::string name;
  Diagnostics found;
  if (whole_set) {
    REPRISE_ASSIGN(files, FindCaptures(request.input_directory,
                                       {request.rank_pattern, request.capture}, found));
    std::error_code error;
    const fs::path path = fs::absolute(request.input_directory, error).lexically_normal();
    name = path.has_filename() ? path.filename().string() : path.parent_path().filename().string();
  } else {
    files.push_back(
        {.rank = request.rank, .host = request.host_trace, .kineto = request.device_trace});
    if (!request.input_file.empty() && KindOf(request.input_file) == CaptureKind::kHost) {
      files[0].host = request.input_file;
    } else if (!request.input_file.empty()) {
      REPRISE_ASSIGN(files, RanksOfFile(request.input_file));
    }
    name = fs::path(request.input_file).filename().string();
    name = name.substr(0, name.find('.'));
  }
  std::vector<std::int32_t> ranks;
  ranks.reserve(files.size());
  for (const RankFiles& one : files) {
    ranks.push_back(std::max(one.rank, 0));
  }
  REPRISE_ASSIGN(OutputFiles output,
                 whole_set || request.output_file.empty()
                     ? OutputFiles::Directory(request, name, JobOf(request), ranks, processes)
                     : OutputFiles::OneFile(request.output_file, request.force));
  REPRISE_ASSIGN(ConvertReport report, ConvertRanks(files, request, processes, output));
  report.diagnostics.Merge(found);
  return report;
}

}  // namespace
}  // namespace pytorch

ConverterKind PyTorchConverter() {
  return {.name = "pytorch",
          .help =
              "PyTorch host traces (ExecutionTraceObserver) with Kineto traces; exports of Nsight "
              "Systems; results of rocprofv3; profiles of JAX (XLA's .xplane.pb)",
          .sniff = &pytorch::LooksLikeCapture,
          .shares_ranks = true,
          .convert = &pytorch::ConvertPyTorch};
}

}  // namespace reprise
