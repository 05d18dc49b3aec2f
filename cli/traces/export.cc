// reprise export: a trace or a run in other programs' formats.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/program/commands.h"
#include "cli/program/given_path.h"
#include "cli/program/number_checks.h"
#include "cli/traces/export_goal.h"
#include "cli/traces/export_simulators.h"
#include "cli/traces/files_together.h"
#include "core/shown_text.h"
#include "et_schema/graph_text.h"
#include "et_schema/io.h"
#include "et_schema/json.h"
#include "et_schema/output_file.h"
#include "et_schema/trace_set.h"
#include "replayer/plan/trace_timeline.h"
#include "report/run/run.h"
#include "report/timeline/perfetto.h"
#include "report/timeline/run_timeline.h"
#include "report/timeline/samples_csv.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

struct ExportFlags {
  std::vector<std::string> inputs;
  std::string input, format, output;  // `input`: the first
  std::optional<std::int32_t> rank, step, iteration;
  std::uint64_t max_nodes = 2'000;
  bool all = false, force = false;
  SimulatorFlags simulator;
  GoalFlags goal;
};

// Files of a trace, by rank; `set` where the input is a directory.
struct Input {
  std::vector<std::string> files;
  std::optional<TraceSet> set;
};

// One rank of each class shows all that there is.
std::string ClassesToChoose(const TraceSet& set) {
  constexpr std::size_t kMax = 4;
  const std::vector<TraceSet::DistinctRank> distinct = set.DistinctRanks();
  std::vector<std::int32_t> ranks;
  for (std::size_t i = 0; i < std::min(kMax, distinct.size()); ++i) {
    ranks.push_back(distinct[i].rank);
  }
  return fmt::format("choose one with --rank (the first of the classes are {}{}), or give --all",
                     fmt::join(ranks, ", "), ranks.size() < distinct.size() ? ", .." : "");
}

Result<Input> FindTraces(const ExportFlags& flags) {
  Input input;
  std::error_code error;
  if (!fs::is_directory(flags.input, error)) {
    if (!fs::exists(flags.input, error)) {
      return BadInput(fmt::format("{}: no such file or directory", flags.input));
    }
    input.files = {flags.input};
    return input;
  }
  REPRISE_ASSIGN(input.set, TraceSet::OpenPresent(flags.input));
  if (!flags.rank && !flags.all) {
    REPRISE_TRY(input.set->CheckRankByRank(
        fmt::format("{} gets the nodes of every rank", flags.format), ClassesToChoose(*input.set)));
  }
  if (!flags.rank) {
    REPRISE_TRY(input.set->Verify());
  }
  if (flags.rank) {
    if (!input.set->HasRank(*flags.rank)) {
      return UsageError(fmt::format("{} has no rank {}: of its {} ranks {} have a file",
                                    flags.input, *flags.rank, input.set->world_size,
                                    input.set->RankCount()));
    }
    REPRISE_TRY(input.set->VerifyFile(*flags.rank));
    input.files = {input.set->RankPath(*flags.rank)};
    return input;
  }
  for (const auto& [rank, file] : input.set->RankPaths()) {
    input.files.push_back(file);
  }
  return input;
}

// A single file has one rank, which --rank may only confirm.
Status CheckRank(const std::string& file, const TraceMetadata& metadata, const ExportFlags& flags) {
  if (flags.rank && metadata.rank != *flags.rank) {
    return UsageError(fmt::format("{} is of rank {}, not {}", file, metadata.rank, *flags.rank));
  }
  return {};
}

Result<std::vector<Graph>> LoadGraphs(const Input& input, const ExportFlags& flags) {
  std::vector<Graph> graphs;
  for (const std::string& file : input.files) {
    REPRISE_ASSIGN(Graph graph, Graph::Load(file));
    REPRISE_TRY(CheckRank(file, graph.metadata(), flags));
    graphs.push_back(std::move(graph));
  }
  return graphs;
}

tl::unexpected<Error> NoSuchStep(const ExportFlags& flags) {
  return UsageError(fmt::format("{} has no node of step {}; `reprise stats` shows its steps",
                                flags.input, *flags.step));
}

// Nodes that will be written; none is a usage error.
Result<std::uint64_t> CountNodes(const std::vector<const Graph*>& graphs,
                                 const ExportFlags& flags) {
  std::uint64_t nodes = 0;
  for (const Graph* graph : graphs) {
    for (Graph::Index i = 0; i < graph->size(); ++i) {
      nodes += !flags.step || graph->step(i) == *flags.step ? 1 : 0;
    }
  }
  if (nodes == 0 && flags.step) {
    return NoSuchStep(flags);
  }
  return nodes;
}

void NoteLeftOut(const GraphTextSummary& summary) {
  fmt::print("{} nodes, {} edges\n", summary.nodes, summary.edges);
  if (summary.edges_left_out > 0) {
    fmt::print("note: {} edges to or from nodes of other steps left out\n", summary.edges_left_out);
  }
}

void NoteFlows(const PerfettoSummary& summary) {
  fmt::print("{} slices, {} arrows, {} counter values\n", summary.slices, summary.flows,
             summary.points);
  if (summary.backward_flows > 0) {
    fmt::print("note: {} arrows left out: what waits begins before what it waits for\n",
               summary.backward_flows);
  }
}

Status ExportJson(const Input& input, const ExportFlags& flags, std::ostream& out) {
  const bool whole_set = input.set && !flags.rank;
  if (!input.set && flags.rank) {
    REPRISE_ASSIGN(const auto reader, EtReader::Open(input.files.front()));
    REPRISE_TRY(CheckRank(input.files.front(), reader->metadata(), flags));
  }
  REPRISE_ASSIGN(const std::uint64_t nodes, whole_set
                                                ? WriteJson(*input.set, out, flags.step)
                                                : WriteJson(input.files.front(), out, flags.step));
  if (nodes == 0 && flags.step) {
    return NoSuchStep(flags);
  }
  fmt::print("{} nodes\n", nodes);
  return {};
}

Status ExportGraphs(const Input& input, const ExportFlags& flags, std::ostream& out) {
  REPRISE_ASSIGN(const std::vector<Graph> loaded, LoadGraphs(input, flags));
  std::vector<const Graph*> graphs;
  graphs.reserve(loaded.size());
  for (const Graph& graph : loaded) {
    graphs.push_back(&graph);
  }
  REPRISE_ASSIGN(const std::uint64_t nodes, CountNodes(graphs, flags));
  if (flags.format == "perfetto") {
    REPRISE_ASSIGN(
        const Timeline timeline,
        TimelineOfTrace(graphs,
                        input.set ? input.set->Groups() : std::map<std::string, ProcessGroup>{},
                        flags.step));
    REPRISE_ASSIGN(const PerfettoSummary summary, WritePerfetto(timeline, out));
    NoteFlows(summary);
    return {};
  }
  if (flags.format == "dot" && nodes > flags.max_nodes && !flags.all) {
    return UsageError(fmt::format(
        "{} nodes are more than Graphviz lays out in reasonable time (limit "
        "{}): choose with --rank and --step, raise --max-nodes, or give --all; graphml and "
        "perfetto have no such limit",
        nodes, flags.max_nodes));
  }
  REPRISE_ASSIGN(const GraphTextSummary summary, flags.format == "dot"
                                                     ? WriteDot(graphs, flags.step, out)
                                                     : WriteGraphMl(graphs, flags.step, out));
  NoteLeftOut(summary);
  return {};
}

Status ExportRun(const ExportFlags& flags, std::ostream& out) {
  REPRISE_ASSIGN(const RunData run, ReadRun(flags.input));
  const RunTimelineOptions options{flags.rank, flags.step, flags.iteration};
  const RunTimeline drawn = TimelineOfRun(run, options);
  if (drawn.timeline.slices.empty()) {
    return UsageError(fmt::format("{} has nothing of that rank, step and iteration", flags.input));
  }
  REPRISE_ASSIGN(const PerfettoSummary summary, WritePerfetto(drawn.timeline, out));
  NoteFlows(summary);
  for (const std::vector<std::string>& notes : {run.notes, drawn.notes}) {
    for (const std::string& note : notes) {
      fmt::print("note: {}\n", ShownText(note));
    }
  }
  return {};
}

// A directory of one file per metric, with an index.
Status ExportCsv(const ExportFlags& flags) {
  REPRISE_ASSIGN(const RunData run, ReadRun(flags.input));
  const ExportedSamples table = TabulateSamples(run);
  if (table.series.empty()) {
    return UsageError(fmt::format("{} has no telemetry", flags.input));
  }
  REPRISE_ASSIGN(FilesTogether files, FilesTogether::Create(flags.output, flags.force));
  const auto write = [&files](const std::string& name, const auto& content) -> Status {
    REPRISE_ASSIGN(const std::string path, files.Add(name));
    REPRISE_ASSIGN(OutputFile file, OutputFile::Create(path, false));
    content(file.stream());
    return file.Commit();
  };
  for (const SampleSeries& series : table.series) {
    REPRISE_TRY(write(series.file, [&](std::ostream& out) { WriteSeriesCsv(table, series, out); }));
  }
  REPRISE_TRY(write("index.csv", [&](std::ostream& out) { WriteIndexCsv(table, out); }));
  REPRISE_TRY(files.Publish());
  fmt::print("wrote {} metrics and index.csv into {}\n", table.series.size(),
             ShownText(flags.output));
  return {};
}

bool IsGoal(const ExportFlags& flags) {
  return flags.format == "goal" || flags.format == "goal-text";
}

Status RunGoal(const ExportFlags& flags) {
  if (flags.rank) {
    return UsageError(
        "a schedule has all ranks: --ranks takes some of them, as a set of their own; no --rank");
  }
  return ExportGoal({.sets = flags.inputs,
                     .output = flags.output,
                     .ranks = flags.simulator.ranks,
                     .host_gaps = flags.simulator.host_gaps,
                     .step = flags.step,
                     .text = flags.format == "goal-text",
                     .all = flags.all,
                     .force = flags.force},
                    flags.goal);
}

Result<int> RunExport(ExportFlags& flags) {
  flags.input = flags.inputs.front();
  if (flags.inputs.size() > 1 && !IsGoal(flags)) {
    return UsageError(fmt::format(
        "--to {} takes one SET; several go into one schedule of --to goal", flags.format));
  }
  if (!IsGoal(flags) && flags.goal.IsGiven()) {
    return UsageError(
        "--machine, --set, --captured-on, --algo, --cpus and --place are for --to goal and "
        "goal-text");
  }
  const bool is_run = FindPathKind(flags.input) == PathKind::kRun;
  if (is_run && flags.format != "perfetto" && flags.format != "csv") {
    return UsageError(fmt::format(
        "{} is a run, which is exported to perfetto and csv only; `reprise report --json` has its "
        "numbers, and {} comes from its trace",
        flags.input, flags.format));
  }
  if (!is_run && flags.format == "csv") {
    return UsageError("csv has a run's telemetry; a trace has none");
  }
  if (!is_run && flags.iteration) {
    return UsageError("--iteration is for runs; a trace has steps");
  }
  if (flags.format == "csv") {
    REPRISE_TRY(ExportCsv(flags));
    return 0;
  }
  if (IsGoal(flags)) {
    REPRISE_TRY(RunGoal(flags));
    return 0;
  }
  if (flags.format == "astra-sim" || flags.format == "chakra-json") {
    if (flags.rank || flags.step) {
      return UsageError(
          fmt::format("{} takes a whole set, or for chakra-json a file: no --rank or "
                      "--step",
                      flags.format));
    }
    REPRISE_TRY(
        flags.format == "astra-sim"
            ? ExportAstraSim(flags.input, flags.output, flags.simulator, flags.all, flags.force)
            : ExportChakraJson(flags.input, flags.output, flags.all, flags.force));
    return 0;
  }
  REPRISE_ASSIGN(OutputFile file, OutputFile::Create(flags.output, flags.force));
  if (is_run) {
    REPRISE_TRY(ExportRun(flags, file.stream()));
  } else {
    REPRISE_ASSIGN(const Input input, FindTraces(flags));
    if (flags.format == "json") {
      REPRISE_TRY(ExportJson(input, flags, file.stream()));
    } else {
      REPRISE_TRY(ExportGraphs(input, flags, file.stream()));
    }
  }
  REPRISE_TRY(file.Commit());
  fmt::print("wrote {}\n", ShownText(flags.output));
  return 0;
}

}  // namespace

CommandBody RegisterExport(CLI::App& app, const CommandContext& /*context*/) {
  auto flags = std::make_shared<ExportFlags>();
  app.description(
      "Export a trace or a run: for simulators, as JSON, Graphviz, GraphML, Perfetto, or telemetry "
      "as CSV");
  app.add_option("SET", flags->inputs,
                 "directory of a trace set or a run, or an .et file; for goal one or more sets")
      ->required();
  app.add_option("--to", flags->format,
                 "json, dot, graphml: traces; perfetto: traces and runs; csv: telemetry of runs; "
                 "astra-sim, chakra-json, goal, goal-text: traces for simulators")
      ->required()
      ->check(CLI::IsMember({"json", "dot", "graphml", "perfetto", "csv", "astra-sim",
                             "chakra-json", "goal", "goal-text"}));
  app.add_option("-o,--output", flags->output,
                 "file to write, compressed if its name ends in .gz or .zst; a directory for csv "
                 "and astra-sim, and for chakra-json of a set")
      ->required();
  app.add_option("--rank", flags->rank, "export only this rank")->check(NotNegative());
  app.add_option("--step", flags->step, "export only this recorded step, counted from 0")
      ->check(NotNegative());
  app.add_option("--iteration", flags->iteration,
                 "for runs: export only this iteration, counted from 0")
      ->check(NotNegative());
  app.add_option("--max-nodes", flags->max_nodes, "for dot: refuse larger graphs")
      ->check(NotNegative())
      ->capture_default_str();
  app.add_flag("--all", flags->all,
               "accept any size: dot of many nodes, files of a folded set of more than 1,024 "
               "ranks, a schedule of "
               "more than 50 million messages");
  app.add_flag("--force", flags->force, "replace an output that exists");
  AddSimulatorOptions(app, flags->simulator);
  AddGoalOptions(app, flags->goal);
  return [flags] { return RunExport(*flags); };
}

}  // namespace reprise
