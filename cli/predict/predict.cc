// reprise predict: what a training job would take on a described machine, without a trace set.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/predict/job_flags.h"
#include "cli/predict/machine_flags.h"
#include "cli/predict/progress_line.h"
#include "cli/predict/shown_prediction.h"
#include "cli/program/commands.h"
#include "cli/program/show_json.h"
#include "cli/runs/run_report.h"
#include "core/shown_text.h"
#include "predict/search/layouts.h"
#include "predict/search/search.h"
#include "predict/search/search_text.h"
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
      "nothing runs. With --ranks, but not both --tp and --pp: which layout is fastest? "
      "(docs/simulation.md)");
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

// Without a layout: which is fastest?
Result<int> RunSearch(const PredictFlags& flags, const TargetMachine& machine) {
  if (!flags.request.run_directory.empty()) {
    return UsageError(
        "-o writes the run of one layout, and --ranks alone leaves it open; give --tp and --pp, "
        "too, or leave -o out to search the layouts");
  }
  Result<LayoutSearch> search;
  {
    ProgressLine line;
    search = SearchLayouts({.machine = &machine,
                            .job = flags.job,
                            .progress = [&line](const SearchProgress& progress) {
                              line.Show({.what = progress.simulates ? "simulated layout" : "layout",
                                         .done = progress.done,
                                         .of = progress.of});
                            }});
  }
  if (!search) {
    return tl::unexpected<Error>(search.error());
  }
  if (flags.show.json) {
    ShowJson(SearchJson(*search), 2);
  } else if (!flags.show.quiet) {
    fmt::print("{}", ShownStyledLines(SearchText(*search)));
  }
  return 0;
}

Result<int> RunPredict(PredictFlags& flags, const CommandContext& context) {
  REPRISE_TRY(CheckFlags(flags));
  flags.request.command_line = context.command_line;
  REPRISE_ASSIGN(const TargetMachine machine, TargetMachine::Create(flags.machine));
  REPRISE_TRY(machine.CheckWithoutTimes(/*job=*/true));
  if (LeavesLayoutOpen(flags.job)) {
    return RunSearch(flags, machine);
  }
  REPRISE_ASSIGN(const Workload workload, MakeJobOrSuggest(flags.job));
  REPRISE_TRY(CheckEffects(flags.job, workload));
  REPRISE_ASSIGN(Prediction prediction, PredictJob(machine, workload, flags.request));
  std::ranges::copy(EffectNotes(workload), std::back_inserter(prediction.warnings));
  if (!flags.request.run_directory.empty()) {
    KeepSums(flags.request.run_directory);
  }
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
