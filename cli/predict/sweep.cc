// reprise sweep: which layout is best? Many configurations of a job, each predicted.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/predict/job_flags.h"
#include "cli/predict/machine_flags.h"
#include "cli/predict/progress_line.h"
#include "cli/program/commands.h"
#include "cli/program/given_path.h"
#include "cli/program/launched_rank.h"
#include "cli/program/show_json.h"
#include "cli/program/version.h"
#include "core/checksums.h"
#include "core/counted.h"
#include "core/shown_text.h"
#include "et_schema/trace_set.h"
#include "predict/sweep/run.h"

namespace reprise {
namespace {

struct SweepFlags {
  JobOptions job;  // `what`: a sweep file, too
  std::vector<std::string> keys;
  MachineRequest machine;
  std::string output, rank_by = "time";
  bool force = false, all = false, json = false, quiet = false;
  const CLI::App* app = nullptr;
};

void AddFlags(CLI::App& app, SweepFlags& flags) {
  flags.app = &app;
  app.description(
      "Predict many configurations of a job and rank them: which layout is fastest, and which fit "
      "(docs/simulation.md)");
  app.add_option("JOB", flags.job.what,
                 "a preset (`reprise list models`), the description of a job, or a sweep file "
                 "(`reprise list sweeps`, docs/sweep_format.md)")
      ->required();
  app.add_option(
      "KEYS", flags.keys,
      "KEY=V,V: values of an option of layout or step, as in tp=1,2,4: all combinations are "
      "predicted. Lists are joined by +, switches are on or off. Of a sweep file: only "
      "its rows with these values");
  AddMachineFlags(app, flags.machine, " (default: as the sweep file says)");
  app.add_option("-o,--output", flags.output, "directory of the tables and the page")->required();
  app.add_flag("--force", flags.force, "replace an existing sweep");
  app.add_flag("--all", flags.all,
               "simulate also what does not fit in memory (default: only of sweep files)");
  app.add_option("--rank-by", flags.rank_by, "time, energy or memory (default: time)")
      ->check(CLI::IsMember({"time", "energy", "memory"}));
  AddJobFlags(app, flags.job);
  auto* const quiet = app.add_flag("--quiet", flags.quiet, "no table at the end");
  app.add_flag("--json", flags.json, "the table as one JSON object")->excludes(quiet);
}

// Nothing but an earlier sweep may be there.
Status CheckOutput(const std::string& directory) {
  std::error_code error;
  const PathKind kind = FindPathKind(directory);
  if (kind == PathKind::kMissing || kind == PathKind::kSweep ||
      (std::filesystem::is_directory(directory, error) &&
       std::filesystem::is_empty(directory, error))) {
    return {};
  }
  return UsageError(fmt::format(
      "{} {}; a sweep replaces a sweep only: choose another -o, or remove it yourself",
      ShownText(directory),
      kind == PathKind::kOther ? std::string("holds no sweep") : fmt::format("is {}", Name(kind))));
}

Result<Sweep> SweepOf(const SweepFlags& flags) {
  std::error_code error;
  if (std::filesystem::is_directory(flags.job.what, error)) {
    return UsageError(
        fmt::format("a sweep takes a job, a preset or a description of one; {} is a directory",
                    ShownText(flags.job.what)));
  }
  if (flags.job.name) {
    return UsageError(
        "--name is of the set or run that is written, and a sweep writes none; "
        "leave it out");
  }
  if (!IsSweep(flags.job.what)) {
    if (flags.keys.empty()) {
      return UsageError(
          "give values of an option, as in tp=1,2,4; one configuration alone: "
          "reprise predict " +
          ShownText(flags.job.what));
    }
    return SweepOfJob(flags.job, flags.keys);
  }
  for (const auto& [name, value] : GivenJobOptions(flags.job)) {
    return UsageError(
        fmt::format("--{}: the sweep file says what its jobs are; leave it out", name));
  }
  if (flags.all) {
    return UsageError("--all: of a sweep file all jobs are simulated; leave it out");
  }
  REPRISE_ASSIGN(Sweep sweep, ReadSweep(flags.job.what));
  return ChooseJobs(std::move(sweep), flags.keys);
}

// A file's content, or its name where it is built in.
Result<std::string> ContentOf(const std::string& what) {
  std::error_code error;
  return std::filesystem::is_regular_file(what, error) ? ChecksumOf(what) : what;
}

// Everything besides the configurations and how they are shown.
Result<std::string> SettingsOf(const SweepFlags& flags, const std::string& machine) {
  static const std::set<std::string> others = {"output", "force",   "json",    "quiet",
                                               "all",    "rank-by", "verbose", "machine"};
  REPRISE_ASSIGN(const std::string job, ContentOf(flags.job.what));
  REPRISE_ASSIGN(const std::string of_machine, ContentOf(machine));
  std::string text = fmt::format("{}\n{}\n{}\n", job, of_machine, VersionText());
  for (const CLI::Option* const option : flags.app->get_options()) {
    const std::vector<std::string>& names = option->get_lnames();
    if (option->count() > 0 && !names.empty() && !others.contains(names.front())) {
      text += fmt::format("{} {}\n", names.front(), fmt::join(option->results(), " "));
    }
  }
  return HashOfText(text);
}

Result<int> RunSweepCommand(SweepFlags& flags) {
  REPRISE_ASSIGN(const Sweep sweep, SweepOf(flags));
  if (flags.machine.machine.empty()) {
    flags.machine.machine = sweep.machine;
  }
  if (flags.machine.machine.empty()) {
    return UsageError("--machine is required: a name (`reprise list machines`) or a file");
  }
  REPRISE_ASSIGN(const TargetMachine machine, TargetMachine::Create(flags.machine));
  REPRISE_TRY(CheckOutput(flags.output));
  REPRISE_ASSIGN(const std::string settings, SettingsOf(flags, flags.machine.machine));
  Result<SweepTable> table;
  {
    ProgressLine line;
    table =
        RunSweep({.sweep = &sweep,
                  .machine = &machine,
                  .rank_by = flags.rank_by,
                  .settings = settings,
                  .directory = flags.output,
                  .force = flags.force,
                  .all = flags.all || IsSweep(flags.job.what),
                  .progress = [&line](const SweepProgress& progress) {
                    line.Show({.what = "configuration",
                               .done = progress.known + progress.cannot_be + progress.too_large +
                                       progress.simulated,
                               .known = progress.known + progress.cannot_be + progress.too_large,
                               .of = progress.of,
                               .more = fmt::format(" ({} do not fit, {} cannot be)",
                                                   progress.too_large, progress.cannot_be)});
                  }});
  }
  if (!table) {
    return tl::unexpected<Error>(table.error());
  }
  if (flags.json) {
    fmt::print("{}", ShownJson(SweepJson(*table)));
  } else if (!flags.quiet) {
    const std::filesystem::path directory(flags.output);
    fmt::print("{}\npage {}, figures {}, table {}\n", ShownStyledLines(SweepText(*table)),
               ShownText((directory / kSweepPageFile).string()),
               ShownText((directory / kSweepFiguresFile).string()),
               ShownText((directory / kSweepCsvFile).string()));
  }
  return 0;
}

}  // namespace

CommandBody RegisterSweep(CLI::App& app, const CommandContext& /*context*/) {
  auto flags = std::make_shared<SweepFlags>();
  AddFlags(app, *flags);
  return [flags] { return RunSweepCommand(*flags); };
}

}  // namespace reprise
