// reprise simulate: what a captured trace set would take on a described machine.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/folded_job.h"
#include "cli/number_checks.h"
#include "cli/replay_part.h"
#include "cli/run_report.h"
#include "cli/simulate_options.h"
#include "cli/simulated_power.h"
#include "cli/simulated_set.h"
#include "cli/simulated_sweep.h"
#include "cli/version.h"
#include "cli/workload_effects.h"
#include "cli/workload_flags.h"
#include "collectives/communicator.h"
#include "core/checksums.h"
#include "core/shown_text.h"
#include "et_schema/trace_set.h"
#include "replayer/dry.h"
#include "simulator/scale.h"

namespace reprise {
namespace {

struct SimulateFlags {
  WorkloadFlags workload;  // `what`: a set, too
  ReplayRequest request;
  SimulatedSet simulated;
  std::vector<std::string> slow, links;
  std::string network = "alpha-beta";
  std::optional<std::uint64_t> seed;
  PowerFlags power;
  PartFlags part;
  JobSweepFlags sweep;
  std::string grid, hardware;
  std::string fold = "auto";
  bool json = false, quiet = false;
  const CLI::App* app = nullptr;
};

void AddFlags(CLI::App& app, SimulateFlags& flags) {
  SimulatedSet& simulated = flags.simulated;
  flags.app = &app;
  app.description(
      "Simulate a job, or a captured or generated trace set, on a described machine; every time is "
      "modelled, nothing runs (docs/simulation.md)");
  app.add_option("SET_OR_JOB", flags.workload.what,
                 "a trace set: a directory of <name>.<rank>.et files; or a job: a preset (`reprise "
                 "list models`), or a JSON file that describes it (docs/guides/generate.md)");
  app.add_option(
      "-o,--output", flags.request.run_directory,
      "run directory to write; not needed for a job with --json. With --sweep: directory "
      "of the tables and the page");
  app.add_flag("--force", flags.request.force,
               "replace an existing run, or with --sweep an existing sweep");
  app.add_option("--machine", simulated.machine,
                 "name (`reprise list machines`), file (docs/machine_format.md), or recorded: the "
                 "machine that the set was captured on. Needed, but for a grid");
  app.add_option(
      "--captured-on", simulated.captured_on,
      "of a captured set: the machine that it was captured on, as name or file (default: "
      "by the device's name in the capture)");
  app.add_option("--set", simulated.overrides,
                 "another value of a number of --machine: PATH=VALUE[UNIT]")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--slow", flags.slow, "RANK=F: operations of a rank take F times as long")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--link", flags.links,
                 "NAME=F or NAME@DOMAIN=F: factor on a link's bandwidth, everywhere or of one "
                 "domain (a node's adapters: the node's number)")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--network", flags.network,
                 "alpha-beta: latency and bandwidth, links shared by groups that are alike; flow: "
                 "links shared by what transfers at the same time (default: alpha-beta)")
      ->check(CLI::IsMember({"alpha-beta", "flow"}));
  app.add_option(
         "--jitter", simulated.options.jitter,
         "of a captured set: coefficient of variation of each operation's time (default: 0)")
      ->check(CLI::Range(0.0, 10.0));
  app.add_option("--seed", flags.seed,
                 "of --jitter; of a job's routing, if that is not balanced (default: 1, or as "
                 "described)")
      ->check(NotNegative());
  app.add_option("--fold", flags.fold,
                 "auto: equal ranks of a job or a folded set are simulated once; off: every rank, "
                 "with the same times")
      ->check(CLI::IsMember({"auto", "off"}));
  AddWorkloadOptions(app, flags.workload, {"ranks", "steps", "seed"});
  AddPowerFlags(app, flags.power);
  AddPartFlags(app, flags.part);
  // Nothing executes here, and sizes of transfers stay as recorded.
  app.remove_option(app.get_option("--streams"));
  app.remove_option(app.get_option("--group-sizes"));
  app.get_option("--ranks")->description(
      "recorded ranks to simulate, e.g. 0-3,6; of a job: how many there are");
  app.get_option("--steps")->description(
      "recorded steps to simulate, counted from 0, e.g. 0,2-3; of a job: how many there are");
  AddJobSweepFlags(app, flags.sweep);
  app.add_option("--grid", flags.grid,
                 "in place of a job: all configurations of a study's grid (charllm), as a sweep")
      ->group("Sweep");
  app.add_option("--hardware", flags.hardware,
                 "of the grid: h200x32, h100x64 (default machines: h200-study, h100-study)")
      ->group("Sweep");
  auto* const quiet = app.add_flag("--quiet", flags.quiet, "no report at the end");
  app.add_flag("--json", flags.json, "the prediction as one JSON object")->excludes(quiet);
}

bool IsSet(const std::string& what) {
  std::error_code error;
  return std::filesystem::is_directory(what, error);
}

bool IsWhole(const PartOptions& part) {
  return part.ranks.empty() && !part.one_trace && part.steps.empty() && part.range.empty();
}

// --ranks and --steps are numbers of a job; nothing else chooses a part of one.
Status InterpretPartOfJob(SimulateFlags& flags) {
  const PartFlags& part = flags.part;
  if (!part.range.empty() || part.one_trace_option->count() > 0) {
    return UsageError(
        "a job has no part to choose: generate its set, and simulate that with --one-trace, "
        "--range and the like");
  }
  for (const auto& [name, text] :
       {std::pair("ranks", part.ranks), std::pair("steps", part.steps)}) {
    if (!text.empty() && !SetWorkloadOption(name, text, flags.workload)) {
      return UsageError(fmt::format(
          "--{0} {1}: of a job it is the number of {0}; expected a whole number of at least 1",
          name, ShownText(text)));
    }
  }
  if (flags.seed) {
    flags.workload.seed = static_cast<std::int64_t>(*flags.seed);
  }
  return {};
}

Status SimulateJob(SimulateFlags& flags) {
  SimulatedSet& simulated = flags.simulated;
  REPRISE_ASSIGN(const Workload workload, MakeWorkload(flags.workload));
  REPRISE_TRY(CheckWorkloadEffects(flags.workload, workload));
  REPRISE_ASSIGN(const GeneratedJob job,
                 GenerateFoldedJob(workload, !flags.request.run_directory.empty()));
  simulated.job = FactsOf(workload, job.summary);
  if (simulated.options.to) {
    REPRISE_ASSIGN(simulated.job->largest_micro_batch,
                   LargestMicroBatch(workload, simulated.options.to->device.memory_bytes.value));
  }
  const TraceSet set{.name = job.folded.classes->SetName(), .classes = job.folded.classes};
  return simulated.RunFolded(flags.request, set, job.folded, flags.fold == "auto");
}

// What the user should know of the part that was simulated.
Result<std::vector<std::string>> Simulate(SimulateFlags& flags) {
  const ReplayRequest& request = flags.request;
  SimulatedSet& simulated = flags.simulated;
  if (!IsSet(request.set_directory)) {
    REPRISE_TRY(SimulateJob(flags));
    return std::vector<std::string>{};
  }
  REPRISE_ASSIGN(const TraceSet set, TraceSet::OpenPresent(request.set_directory));
  if (IsWhole(request.options.part)) {
    REPRISE_ASSIGN(simulated.job, ReadJobFacts(request.set_directory));
  }
  if (set.classes != nullptr && IsWhole(request.options.part)) {
    REPRISE_ASSIGN(const FoldedJob job, ReadFoldedJob(set));
    if (!simulated.job) {
      REPRISE_ASSIGN(simulated.traced, TracedMemoryOf(job.programs));
    }
    REPRISE_TRY(simulated.RunFolded(request, set, job, flags.fold == "auto"));
    return std::vector<std::string>{};
  }
  // One process simulates all ranks.
  const auto communicators = CreateLocalCommunicators(1);
  const auto outcome = DryReplayAs(request, *communicators.front(), simulated.Simulation());
  if (!outcome) {
    return tl::unexpected<Error>(outcome.error().error);
  }
  return outcome->notes;
}

Status CheckGridFlags(const SimulateFlags& flags) {
  if (flags.grid.empty() || flags.hardware.empty() || flags.request.run_directory.empty() ||
      !flags.workload.what.empty()) {
    return UsageError(
        "a grid takes --grid NAME, --hardware NAME and -o, the directory of its tables and page, "
        "and no SET");
  }
  for (const auto& [name, value] : GivenWorkloadOptions(flags.workload)) {
    return UsageError(fmt::format("--{}: the grid says what its jobs are; leave it out", name));
  }
  return {};
}

// What the options say together.
Status CheckFlags(const SimulateFlags& flags) {
  if (!flags.grid.empty() || !flags.hardware.empty()) {
    return CheckGridFlags(flags);
  }
  if (flags.workload.what.empty()) {
    return UsageError("SET_OR_JOB is required: a directory, a preset or a description of a job");
  }
  if (flags.simulated.machine.empty()) {
    return UsageError("--machine is required: a name (`reprise list machines`) or a file");
  }
  const bool set = IsSet(flags.workload.what);
  const bool sweep = !flags.sweep.keys.empty();
  if (flags.request.run_directory.empty() && (set || !flags.json || sweep)) {
    return UsageError(sweep ? "give -o, the directory of the sweep's tables and page"
                            : "give -o, the run directory to write");
  }
  if (!set) {
    return {};
  }
  for (const auto& [name, value] : GivenWorkloadOptions(flags.workload)) {
    return UsageError(fmt::format(
        "--{} describes a job, and {} is a set: its layout and step are as it was written", name,
        flags.workload.what));
  }
  return {};
}

// A file's content, or its name where it is built in.
Result<std::string> ContentOf(const std::string& what) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(what, error)) {
    return what;
  }
  return ChecksumOf(what);
}

// What was given, besides what is swept and how it is shown.
std::string SettingsOf(const CLI::App& app) {
  static const std::set<std::string> others = {"sweep", "output",  "force",  "json",
                                               "quiet", "rank-by", "verbose"};
  std::string text;
  for (const CLI::Option* const option : app.get_options()) {
    const std::vector<std::string>& names = option->get_lnames();
    const std::string name = names.empty() ? "" : names.front();
    if (option->count() > 0 && !others.contains(name)) {
      text += fmt::format("{} {}\n", name, fmt::join(option->results(), " "));
    }
  }
  return text;
}

// `grid`: its rows, in place of a job's combinations.
Status SweepJob(const SimulateFlags& flags, const std::optional<Grid>& grid) {
  if (!grid && IsSet(flags.workload.what)) {
    return UsageError(fmt::format(
        "--sweep takes a job, a preset or a description of one; {} is a set", flags.workload.what));
  }
  REPRISE_TRY(flags.simulated.CheckWithoutTimes(true));
  REPRISE_ASSIGN(const std::string job, ContentOf(flags.workload.what));
  REPRISE_ASSIGN(const std::string machine, ContentOf(flags.simulated.machine));
  const std::string settings =
      fmt::format("{}\n{}\n{}{}", job, machine, SettingsOf(*flags.app), VersionText());
  return RunJobSweep({.flags = flags.sweep,
                      .workload = flags.workload,
                      .grid = grid ? &*grid : nullptr,
                      .machine = &flags.simulated,
                      .settings = HashOfText(settings),
                      .directory = flags.request.run_directory,
                      .fold = flags.fold == "auto",
                      .force = flags.request.force,
                      .json = flags.json,
                      .quiet = flags.quiet});
}

void PrintMemory(const SimulatedSet& simulated) {
  const auto& machine = simulated.options.to;
  if (simulated.job && machine) {
    fmt::print("\n{}", MemoryText(*simulated.job, machine->device));
  } else if (simulated.traced) {
    const auto peak = static_cast<double>(simulated.traced->peak_bytes);
    fmt::print("\nMemory          {:.2f} GB at the peak of rank {}, of what operations name{}\n",
               peak / 1e9, simulated.traced->rank,
               !machine                                     ? ""
               : peak <= machine->device.memory_bytes.value ? ": fits"
                                                            : ": does not fit");
  }
}

Result<int> RunSimulate(SimulateFlags& flags, const CommandContext& context) {
  ReplayRequest& request = flags.request;
  SimulatedSet& simulated = flags.simulated;
  REPRISE_TRY(CheckFlags(flags));
  REPRISE_TRY(CheckSimulateOptions(*flags.app, flags.workload.what));
  std::optional<Grid> grid;
  if (!flags.grid.empty()) {
    REPRISE_ASSIGN(grid, MakeGrid(flags.grid, flags.hardware));
    simulated.machine = simulated.machine.empty() ? grid->hardware.machine : simulated.machine;
  }
  request.set_directory = flags.workload.what;
  request.command_line = context.command_line;
  ApplyPreset(ReplayPreset::kDry, request.options);
  request.options.host_gaps = HostGaps::kKeep;
  if (IsSet(request.set_directory)) {
    REPRISE_TRY(InterpretPart(flags.part, request.options));
  } else {
    REPRISE_TRY(InterpretPartOfJob(flags));
  }
  simulated.options.network =
      flags.network == "flow" ? NetworkModel::kFlow : NetworkModel::kAlphaBeta;
  simulated.options.seed = flags.seed.value_or(1);
  for (const std::string& text : flags.slow) {
    REPRISE_ASSIGN(SlowRank slow, ParseSlowRank(text));
    simulated.options.slow_ranks.push_back(slow);
  }
  for (const std::string& text : flags.links) {
    REPRISE_ASSIGN(SlowLink slow, ParseSlowLink(text));
    simulated.options.slow_links.push_back(std::move(slow));
  }
  REPRISE_TRY(simulated.Prepare());
  REPRISE_TRY(simulated.power.Interpret(flags.power, simulated.options.to));
  if (grid || !flags.sweep.keys.empty()) {
    REPRISE_TRY(SweepJob(flags, grid));
    return 0;
  }
  REPRISE_ASSIGN(const std::vector<std::string> notes, Simulate(flags));
  if (flags.json) {
    REPRISE_ASSIGN(const nlohmann::ordered_json json, simulated.ToJson(request.run_directory));
    fmt::print("{}\n", json.dump(2));
    return 0;
  }
  for (const std::string& note : notes) {
    fmt::print("{}\n", note);
  }
  if (flags.quiet) {
    for (const std::string& warning : simulated.Warnings()) {
      fmt::print("{}\n", warning);
    }
    return 0;
  }
  REPRISE_TRY(PrintRunReport(request.run_directory, false));
  PrintMemory(simulated);
  return 0;
}

}  // namespace

CommandBody RegisterSimulate(CLI::App& app, const CommandContext& context) {
  auto flags = std::make_shared<SimulateFlags>();
  AddFlags(app, *flags);
  return [flags, &context] { return RunSimulate(*flags, context); };
}

}  // namespace reprise
