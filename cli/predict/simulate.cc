// reprise simulate: what a captured or generated trace set would take on a described machine.
#include "predict/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "cli/predict/machine_flags.h"
#include "cli/predict/shown_prediction.h"
#include "cli/program/commands.h"
#include "cli/program/given_path.h"
#include "cli/program/number_checks.h"
#include "cli/program/part_flags.h"
#include "cli/program/provenance_flag.h"
#include "cli/runs/run_report.h"
#include "core/shown_text.h"
#include "predict/workload/job/parse.h"
#include "replayer/plan/option_texts.h"

namespace reprise {
namespace {

struct SimulateFlags {
  SimulationRequest request;
  MachineRequest machine;
  PartFlags part;
  std::vector<std::string> rules;
  std::string rules_file;
  std::string ops, comms, host_gaps = "keep", time_scale;
  CLI::Option* seed = nullptr;
  CLI::Option* jitter = nullptr;
  ShowPrediction show;
};

void AddFlags(CLI::App& app, SimulateFlags& flags) {
  app.description(
      "Simulate a captured or generated trace set on a described machine; every time is modelled, "
      "nothing runs (docs/simulation.md)");
  app.add_option("SET", flags.request.set_directory,
                 "a trace set: a directory of <name>.<rank>.et files")
      ->required();
  app.add_option("-o,--output", flags.request.run_directory, "run directory to write")->required();
  app.add_flag("--force", flags.request.force, "replace an existing run");
  AddProvenanceFlag(app, flags.request);
  AddMachineFlags(app, flags.machine, ", or recorded: the machine that the set was captured on");
  app.get_option("--machine")->required();
  app.add_option(
      "--captured-on", flags.machine.captured_on,
      "of a captured set: the machine that it was captured on, as name or file (default: "
      "by the device's name in the capture)");
  flags.jitter =
      app.add_option(
             "--jitter", flags.machine.jitter,
             "of a captured set: coefficient of variation of each operation's time (default: 0)")
          ->check(Between(0, 10));
  flags.seed = app.add_option("--seed", flags.machine.seed, "of --jitter (default: 1)")
                   ->check(NotNegative());
  app.add_option(
      "--time-scale", flags.time_scale,
      "of a captured set: factor on recorded times, or CLASS=F,…; class comm: transfers, "
      "class rest: all others");
  app.add_option("--host-gaps", flags.host_gaps,
                 "of a captured set: host time between operations: keep, untraced (without the "
                 "estimated cost of tracing), drop, scale:F (default: keep)");
  app.add_option("--ops", flags.ops,
                 "of a captured set: timed|skip, or CLASS=MODE,…; class rest: all others; what is "
                 "skipped takes no time");
  app.add_option("--comms", flags.comms,
                 "likewise of transfers: timed|skip, or COLLECTIVE=MODE,…; collective rest: all "
                 "others");
  app.add_option("--what-if", flags.rules,
                 "a rule that changes the set first, as in 'class=attention => scale 0.5'; the "
                 "answer is beside that without rules (docs/guides/transform.md)")
      ->allow_extra_args(false);
  app.add_option("--rules", flags.rules_file, "file with such rules, one a line");
  AddPartFlags(app, flags.part);
  app.remove_option(app.get_option("--streams"));  // nothing executes here
  app.get_option("--ranks")->description("recorded ranks to simulate, e.g. 0-3,6");
  app.get_option("--steps")->description("recorded steps to simulate, counted from 0, e.g. 0,2-3");
  auto* const quiet = app.add_flag("--quiet", flags.show.quiet, "no report at the end");
  app.add_flag("--json", flags.show.json, "the prediction as one JSON object")->excludes(quiet);
}

// A job is no set; what is missing may be either.
Status CheckSet(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error) || FindPathKind(path) == PathKind::kTraceFile) {
    return {};
  }
  const bool preset = std::ranges::any_of(
      BuiltinPresets(), [&path](const Preset& known) { return known.name == path; });
  if (preset || path.ends_with(".json")) {
    return UsageError(
        fmt::format("{0} is a job, not a trace set: reprise predict {0}", ShownText(path)));
  }
  return BadInput(
      fmt::format("{}: no such directory; expected a trace set (a job goes to `reprise predict`)",
                  ShownText(path)));
}

// What becomes of recorded times.
Status InterpretTimes(const SimulateFlags& flags, PlanOptions& options) {
  options.default_op_mode = options.default_comm_mode = ReplayMode::kTimed;
  REPRISE_TRY(ParseOpModes(flags.ops, options));
  REPRISE_TRY(ParseCommModes(flags.comms, options));
  for (const auto& [name, mode] : DescribeModes(options)) {
    if (mode != Name(ReplayMode::kTimed) && mode != Name(ReplayMode::kSkip)) {
      return UsageError(
          fmt::format("{}={}: nothing runs in a simulation; expected timed or skip", name, mode));
    }
  }
  REPRISE_TRY(ParseHostGaps(flags.host_gaps, options));
  if (options.host_gaps == HostGaps::kAuto) {
    return UsageError("--host-gaps: expected keep, untraced, drop, or scale:F");
  }
  return flags.time_scale.empty() ? Status() : ParseTimeScale(flags.time_scale, options);
}

Result<int> RunSimulate(SimulateFlags& flags, const CommandContext& context) {
  SimulationRequest& request = flags.request;
  REPRISE_TRY(CheckSet(request.set_directory));
  if (flags.seed->count() > 0 && flags.jitter->count() == 0) {
    return UsageError("--seed is of --jitter; give that, too, or leave it out");
  }
  request.command_line = context.command_line;
  REPRISE_TRY(InterpretTimes(flags, request.options));
  REPRISE_TRY(InterpretPart(flags.part, request.set_directory, request.options));
  if (request.options.part.group_sizes && request.options.part.ranks.empty() &&
      !request.options.part.one_trace) {
    return UsageError(
        "--group-sizes: every group keeps its members; it is for --ranks and --one-trace");
  }
  REPRISE_ASSIGN(const TargetMachine machine, TargetMachine::Create(flags.machine));
  REPRISE_ASSIGN(RuleSet rules, RuleSet::Create(flags.rules, "--what-if ", flags.rules_file));
  REPRISE_ASSIGN(const Prediction prediction, rules.empty()
                                                  ? PredictSet(machine, request)
                                                  : PredictWhatIf(machine, request, rules));
  KeepSums(request.run_directory);
  REPRISE_TRY(PrintPrediction(prediction, request.run_directory, flags.show));
  return 0;
}

}  // namespace

CommandBody RegisterSimulate(CLI::App& app, const CommandContext& context) {
  auto flags = std::make_shared<SimulateFlags>();
  AddFlags(app, *flags);
  return [flags, &context] { return RunSimulate(*flags, context); };
}

}  // namespace reprise
