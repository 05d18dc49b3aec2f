#include "cli/traces/export_simulators.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/traces/files_together.h"
#include "converters/astra_sim/export.h"
#include "core/counted.h"
#include "core/shown_text.h"
#include "core/text.h"
#include "et_schema/chakra_json.h"
#include "et_schema/output_file.h"
#include "et_schema/trace_set.h"
#include "predict/operator_work.h"
#include "replayer/plan/option_texts.h"
#include "replayer/plan/rank_mapping.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using astra_sim::HostPlace;
using astra_sim::Mode;

// One value for all dimensions, or one for each.
template <typename T>
Result<T> ValueOf(const std::vector<T>& values, std::size_t dimension, std::size_t dimensions,
                  std::string_view option) {
  if (values.size() == 1) {
    return values.front();
  }
  if (values.size() != dimensions) {
    return UsageError(fmt::format("{} has {} values, and --topology {} dimensions", option,
                                  values.size(), dimensions));
  }
  return values[dimension];
}

Result<astra_sim::Machine> MakeMachine(const SimulatorFlags& flags, std::int32_t ranks) {
  astra_sim::Machine machine{.peak_tflops = flags.peak_tflops,
                             .memory_gb_per_s = flags.memory_gb_per_s};
  const std::size_t dimensions = flags.topology.size();
  std::vector<std::int32_t> npus = flags.npus;
  if (npus.empty()) {
    if (dimensions > 1) {
      return UsageError("a network of several dimensions needs --npus, one number for each");
    }
    npus = {ranks};
  }
  for (std::size_t d = 0; d < dimensions; ++d) {
    astra_sim::Dimension& dimension = machine.dimensions.emplace_back();
    if (!astra_sim::ParseTopology(flags.topology[d], dimension.topology)) {
      return UsageError(fmt::format("--topology {}: expected ring, switch or fully-connected",
                                    flags.topology[d]));
    }
    REPRISE_ASSIGN(dimension.npus, ValueOf(npus, d, dimensions, "--npus"));
    REPRISE_ASSIGN(dimension.bandwidth_gb_per_s,
                   ValueOf(flags.bandwidth_gb_per_s, d, dimensions, "--bandwidth"));
    REPRISE_ASSIGN(dimension.latency_ns, ValueOf(flags.latency_ns, d, dimensions, "--latency"));
  }
  return machine;
}

void PrintReport(const astra_sim::Report& report, const std::string& output) {
  fmt::print("{}, {}; longest rank as recorded {:.3f} ms\n", Counted(report.ranks, "rank"),
             Counted(report.nodes, "node"), static_cast<double>(report.recorded_us) / 1000);
  if (report.delay_nodes > 0) {
    fmt::print("{} nodes for gaps before what is simulated\n", report.delay_nodes);
  }
  if (report.modelled_work + report.timed_work > 0) {
    fmt::print("work: {} nodes with FLOPs and bytes, {} with their recorded time\n",
               report.modelled_work, report.timed_work);
  }
  if (report.storage_nodes > 0) {
    fmt::print("{} storage, batch and checkpoint nodes as compute of their recorded time\n",
               report.storage_nodes);
  }
  for (const auto& [what, count] : report.replaced) {
    fmt::print("{} times {}\n", count, what);
  }
  for (const auto& [name, counter] : report.diagnostics.Snapshot()) {
    fmt::print("note: {} × {}: they take their recorded time; first: {}\n", counter.count,
               ShownText(name), counter.examples.empty() ? "" : counter.examples.front());
  }
  fmt::print(
      "wrote {}; run it with\n  ASTRA_SIM=AstraSim_Analytical_Congestion_Unaware {}/run.sh\n",
      ShownText(output), ShownText(output));
}

// "0-3,6"
std::string PresentRanks(const TraceSet& set) { return NumbersText(set.Ranks()); }

Status CheckFilePerRank(const TraceSet& set, std::string_view what, bool all) {
  return all ? Status{}
             : set.CheckRankByRank(what,
                                   "generate the job with fewer data-parallel ranks, or give --all "
                                   "and disk space for as many files");
}

Result<astra_sim::Ranks> AllRanks(const TraceSet& set, bool all) {
  REPRISE_TRY(set.Verify());
  REPRISE_TRY(CheckFilePerRank(set, "ASTRA-sim reads a file of each rank", all));
  return astra_sim::LoadRanks(set.directory);
}

// Numbered from 0. A group keeps the members that are there.
Result<astra_sim::Ranks> ChosenRanks(const TraceSet& set, const PartOptions& part,
                                     Diagnostics& diagnostics) {
  PlanOptions options;
  options.part = part;
  REPRISE_ASSIGN(const RankMapping mapping,
                 MapRanks(set, options, static_cast<int>(part.ranks.size())));
  astra_sim::Ranks ranks{.directory = set.directory, .name = set.name};
  for (const auto& [id, group] : mapping.groups) {
    ranks.groups[id] = {.id = id, .description = group.description, .ranks = group.ranks};
  }
  for (std::size_t i = 0; i < mapping.replayed.size(); ++i) {
    const std::int32_t rank = mapping.replayed[i];
    REPRISE_TRY(set.VerifyFile(rank));
    REPRISE_ASSIGN(const Graph graph, Graph::Load(set.RankPath(rank)));
    REPRISE_ASSIGN(Graph rewritten,
                   RewriteFor(graph, mapping, static_cast<std::int32_t>(i), diagnostics));
    ranks.graphs.push_back(std::move(rewritten));
  }
  return ranks;
}

Status WriteOneJson(const std::string& input, const std::string& output, bool force,
                    std::uint64_t& nodes) {
  REPRISE_ASSIGN(OutputFile file, OutputFile::Create(output, force));
  REPRISE_ASSIGN(const std::uint64_t written, WriteChakraJson(input, file.stream()));
  nodes += written;
  return file.Commit();
}

Status WriteJsonFiles(const TraceSet& set, const std::string& output, bool force,
                      std::uint64_t& nodes) {
  REPRISE_ASSIGN(FilesTogether files, FilesTogether::Create(output, force));
  for (const auto& [rank, file] : set.RankPaths()) {
    REPRISE_ASSIGN(const std::string path, files.Add(fmt::format("{}.{}.json", set.name, rank)));
    REPRISE_TRY(WriteOneJson(file, path, false, nodes));
  }
  REPRISE_ASSIGN(const std::string groups, files.Add(kGroupsFile));
  REPRISE_TRY(files.Add(kGroupsInfoFile));
  REPRISE_TRY(WriteGroups(fs::path(groups).parent_path().string(), set.Groups()));
  return files.Publish();
}

}  // namespace

void AddSimulatorOptions(CLI::App& app, SimulatorFlags& flags) {
  constexpr char kBothSimulators[] = "ASTRA-sim and GOAL";
  const std::string others = app.option_defaults()->get_group();
  app.option_defaults()->group("ASTRA-sim");
  app.add_option("--ranks", flags.ranks,
                 "recorded ranks to export, e.g. 0-3,6: they become a set of their own, and what "
                 "they exchange with others takes its recorded time")
      ->group(kBothSimulators);
  app.add_option("--mode", flags.mode,
                 "replay: everything takes its recorded time; network: transfers are simulated; "
                 "roofline: work takes what its FLOPs and bytes need, too")
      ->check(CLI::IsMember({"replay", "network", "roofline"}))
      ->capture_default_str();
  app.add_option("--topology", flags.topology,
                 "ring, switch or fully-connected, for each dimension of the network, innermost "
                 "first")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--npus", flags.npus, "ranks of each dimension (default: all, in one)")
      ->delimiter(',');
  app.add_option("--bandwidth", flags.bandwidth_gb_per_s,
                 "GB/s of a link, for all dimensions or each")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--latency", flags.latency_ns, "ns of a link, for all dimensions or each")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--peak-tflops", flags.peak_tflops, "for roofline: TFLOP/s of a rank");
  app.add_option("--memory-bandwidth", flags.memory_gb_per_s,
                 "for roofline: GB/s of a rank's memory");
  app.add_option("--host-nodes", flags.host,
                 "what runs the nodes of host threads: cpu, npu, or auto: npu unless the set has "
                 "device nodes")
      ->check(CLI::IsMember({"auto", "cpu", "npu"}))
      ->capture_default_str();
  app.add_option("--host-gaps", flags.host_gaps,
                 "keep or drop delays and the time of host nodes that are no work")
      ->check(CLI::IsMember({"keep", "drop"}))
      ->capture_default_str()
      ->group(kBothSimulators);
  app.add_flag("--track-memory", flags.track_memory,
               "write each node's tensors, and have local memory tracked");
  app.option_defaults()->group(others);
}

Status ExportAstraSim(const std::string& input, const std::string& output,
                      const SimulatorFlags& flags, bool all, bool force) {
  std::error_code error;
  if (!fs::is_directory(input, error)) {
    return UsageError(fmt::format("{}: --to astra-sim takes the directory of a trace set", input));
  }
  PartOptions part;
  if (!flags.ranks.empty()) {
    REPRISE_ASSIGN(part.ranks, ParseNumbers(flags.ranks, "--ranks"));
  }
  REPRISE_ASSIGN(const TraceSet set, OpenChosen(input, part));
  Diagnostics diagnostics;
  REPRISE_ASSIGN(const astra_sim::Ranks ranks,
                 part.ranks.empty() ? AllRanks(set, all) : ChosenRanks(set, part, diagnostics));
  astra_sim::Request request{.output_directory = output,
                             .mode = flags.mode == "replay"    ? Mode::kReplay
                                     : flags.mode == "network" ? Mode::kNetwork
                                                               : Mode::kRoofline,
                             .host = flags.host == "cpu"   ? HostPlace::kCpu
                                     : flags.host == "npu" ? HostPlace::kNpu
                                                           : HostPlace::kAuto,
                             .host_gaps = flags.host_gaps == "keep",
                             .track_memory = flags.track_memory,
                             .force = force,
                             .costs = OperatorCosts()};
  REPRISE_ASSIGN(request.machine,
                 MakeMachine(flags, static_cast<std::int32_t>(ranks.graphs.size())));
  REPRISE_ASSIGN(astra_sim::Report report, astra_sim::Export(ranks, request));
  report.diagnostics.Merge(diagnostics);
  PrintReport(report, output);
  return {};
}

Status ExportChakraJson(const std::string& input, const std::string& output, bool all, bool force) {
  std::uint64_t nodes = 0;
  std::error_code error;
  if (!fs::is_directory(input, error)) {
    REPRISE_TRY(WriteOneJson(input, output, force, nodes));
    fmt::print("{} nodes\nwrote {}\n", nodes, ShownText(output));
    return {};
  }
  REPRISE_ASSIGN(const TraceSet set, TraceSet::OpenPresent(input));
  if (set.missing.empty()) {
    REPRISE_TRY(set.Verify());
  } else {
    fmt::print("note: {}: those of rank {} are written\n", set.MissingRanks(), PresentRanks(set));
  }
  REPRISE_TRY(CheckFilePerRank(set, "chakra-json has a file of each rank", all));
  REPRISE_TRY(WriteJsonFiles(set, output, force, nodes));
  fmt::print("{}\nwrote {} and the process groups into {}\n", Counted(nodes, "node"),
             Counted(set.RankCount(), "file"), ShownText(output));
  return {};
}

}  // namespace reprise
