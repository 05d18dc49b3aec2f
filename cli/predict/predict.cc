// reprise predict: what a training job would take on a described machine, without a trace set.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>

#include "cli/predict/job_flags.h"
#include "cli/predict/machine_flags.h"
#include "cli/predict/shown_prediction.h"
#include "cli/program/commands.h"
#include "core/shown_text.h"
#include "predict/simulate.h"
#include "predict/workload/job/valid_values.h"

namespace reprise {
namespace {

struct PredictFlags {
  JobOptions job;
  MachineRequest machine;
  JobRequest request{.largest_micro_batch = true};
  ShowPrediction show;
};

void AddFlags(CLI::App& app, PredictFlags& flags) {
  app.description(
      "Predict the step of a training job on a described machine: time, waiting, memory, power; "
      "nothing runs (docs/simulation.md)");
  app.add_option("JOB", flags.job.what,
                 "a preset (`reprise list models`), or a JSON file that describes the job "
                 "(docs/guides/generate.md)")
      ->required();
  AddMachineFlags(app, flags.machine, "");
  app.get_option("--machine")->required();
  app.add_option("-o,--output", flags.request.run_directory,
                 "run directory to write, for report, compare and export");
  app.add_flag("--force", flags.request.force, "replace an existing run");
  AddJobFlags(app, flags.job);
  auto* const quiet = app.add_flag("--quiet", flags.show.quiet, "warnings only");
  app.add_flag("--json", flags.show.json, "the prediction as one JSON object")->excludes(quiet);
}

Status CheckFlags(const PredictFlags& flags) {
  std::error_code error;
  if (std::filesystem::is_directory(flags.job.what, error)) {
    return UsageError(fmt::format("{0} is a directory, not a job: reprise simulate {0}",
                                  ShownText(flags.job.what)));
  }
  if (flags.request.run_directory.empty()) {
    if (flags.request.force) {
      return UsageError(
          "--force replaces what -o names, and there is no -o; give one, or leave it out");
    }
    if (flags.job.name) {
      return UsageError(
          "--name is of the run that is written, and without -o there is none; leave it out");
    }
  }
  return {};
}

Result<int> RunPredict(PredictFlags& flags, const CommandContext& context) {
  REPRISE_TRY(CheckFlags(flags));
  flags.request.command_line = context.command_line;
  REPRISE_ASSIGN(const TargetMachine machine, TargetMachine::Create(flags.machine));
  REPRISE_TRY(machine.CheckWithoutTimes(/*job=*/true));
  REPRISE_ASSIGN(const Workload workload, MakeJobOrSuggest(flags.job));
  REPRISE_TRY(CheckEffects(flags.job, workload));
  REPRISE_ASSIGN(const Prediction prediction, PredictJob(machine, workload, flags.request));
  REPRISE_TRY(PrintPrediction(prediction, flags.request.run_directory, flags.show));
  return 0;
}

}  // namespace

CommandBody RegisterPredict(CLI::App& app, const CommandContext& context) {
  auto flags = std::make_shared<PredictFlags>();
  AddFlags(app, *flags);
  return [flags, &context] { return RunPredict(*flags, context); };
}

}  // namespace reprise
