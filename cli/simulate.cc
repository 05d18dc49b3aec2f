// reprise simulate: what a captured trace set would take on a described machine.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/replay_part.h"
#include "cli/run_report.h"
#include "cli/simulated_power.h"
#include "cli/simulated_set.h"
#include "collectives/communicator.h"
#include "et_schema/trace_set.h"
#include "replayer/dry.h"
#include "simulator/scale.h"

namespace reprise {
namespace {

struct SimulateFlags {
  ReplayRequest request;
  std::string machine, captured_on;
  std::vector<std::string> set, slow, links;
  double jitter = 0;
  std::uint64_t seed = 1;
  PowerFlags power;
  PartFlags part;
  std::string fold = "auto";
  bool json = false, quiet = false;
};

void AddFlags(CLI::App& app, SimulateFlags& flags) {
  app.description(
      "Simulate a captured or generated trace set on a described machine; every time is modelled, "
      "nothing runs "
      "(docs/simulation.md)");
  app.add_option("SET", flags.request.set_directory, "directory of <name>.<rank>.et files")
      ->required();
  app.add_option("-o,--output", flags.request.run_directory, "run directory to write")->required();
  app.add_flag("--force", flags.request.force, "replace an existing run");
  app.add_option("--machine", flags.machine,
                 "name (`reprise list machines`), file (docs/machine_format.md), or recorded: the "
                 "machine that the set was captured on")
      ->required();
  app.add_option("--captured-on", flags.captured_on,
                 "machine that the set was captured on, as name or file (default: by the device's "
                 "name in the capture)");
  app.add_option("--set", flags.set, "another value of a number of --machine: PATH=VALUE[UNIT]")
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
  app.add_option("--jitter", flags.jitter,
                 "coefficient of variation of each operation's time (default: 0)")
      ->check(CLI::Range(0.0, 10.0));
  app.add_option("--seed", flags.seed, "of --jitter (default: 1)");
  app.add_option("--fold", flags.fold,
                 "auto: equal ranks of a folded set are simulated once; off: every rank, with the "
                 "same times")
      ->check(CLI::IsMember({"auto", "off"}));
  AddPowerFlags(app, flags.power);
  AddPartFlags(app, flags.part);
  auto* const quiet = app.add_flag("--quiet", flags.quiet, "no report at the end");
  app.add_flag("--json", flags.json, "the prediction as one JSON object")->excludes(quiet);
}

// What the user should know of the part that was simulated.
Result<std::vector<std::string>> Simulate(const SimulateFlags& flags, SimulatedSet& simulated) {
  const ReplayRequest& request = flags.request;
  const PartOptions& part = request.options.part;
  const bool whole =
      part.ranks.empty() && !part.one_trace && part.steps.empty() && part.range.empty();
  REPRISE_ASSIGN(const TraceSet set, TraceSet::OpenPresent(request.set_directory));
  if (set.classes != nullptr && whole) {
    REPRISE_TRY(simulated.RunFolded(request, set, flags.fold == "auto"));
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

Result<int> RunSimulate(SimulateFlags& flags, const CommandContext& context) {
  ReplayRequest& request = flags.request;
  request.command_line = context.command_line;
  ApplyPreset(ReplayPreset::kDry, request.options);
  request.options.host_gaps = HostGaps::kKeep;
  REPRISE_TRY(InterpretPart(flags.part, request.options));
  SimulatedSet simulated;
  simulated.machine = flags.machine;
  simulated.captured_on = flags.captured_on;
  simulated.overrides = flags.set;
  simulated.options.jitter = flags.jitter;
  simulated.options.seed = flags.seed;
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
  REPRISE_ASSIGN(const std::vector<std::string> notes, Simulate(flags, simulated));
  if (flags.json) {
    REPRISE_ASSIGN(const nlohmann::ordered_json json, simulated.ToJson(request.run_directory));
    fmt::print("{}\n", json.dump(2));
    return 0;
  }
  for (const std::string& note : notes) {
    fmt::print("{}\n", note);
  }
  for (const std::string& note : simulated.power.Notes()) {
    fmt::print("{}\n", note);
  }
  if (flags.quiet) {
    return 0;
  }
  REPRISE_TRY(PrintRunReport(request.run_directory, false));
  return 0;
}

}  // namespace

CommandBody RegisterSimulate(CLI::App& app, const CommandContext& context) {
  auto flags = std::make_shared<SimulateFlags>();
  AddFlags(app, *flags);
  return [flags, &context] { return RunSimulate(*flags, context); };
}

}  // namespace reprise
