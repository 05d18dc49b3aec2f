// reprise report RUN [--full | --section NAME | --json] [-o FILE.html]
#include "report/values/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/program/commands.h"
#include "cli/program/launched_rank.h"
#include "cli/program/show_json.h"
#include "cli/runs/execution.h"
#include "cli/runs/repeated_runs.h"
#include "core/kept_memory.h"
#include "core/shown_text.h"
#include "et_schema/output_file.h"
#include "report/analysis.h"
#include "report/operations/inference_phases.h"
#include "report/page/html.h"
#include "report/sections/sections.h"
#include "report/shared_sums.h"
#include "report/text/short_text.h"

namespace reprise {
namespace {

struct ReportFlags {
  std::string run;  // or a set
  std::string output;
  std::string section;
  std::int64_t memory = 0;
  bool json = false;
  bool full = false;
  bool same_machine = false;
  bool quiet = false;
  bool force = false;
};

Result<std::string> TextOf(const Report& report, const ReportFlags& flags) {
  const bool colour = ShownOnTerminal(STDOUT_FILENO);
  if (flags.json) {
    return JsonText(report);
  }
  if (!flags.section.empty()) {
    return SectionText(report, flags.section, colour);
  }
  if (flags.full) {
    return FullText(report, colour);
  }
  return ShortText(report, colour) +
         fmt::format(
             "\nMore: reprise report {} with --full{}\n", flags.run,
             flags.output.empty() ? ", --section NAME or -o page.html" : " or --section NAME");
}

// Of a directory of repeats, the run with the median step. What is printed then names it.
Result<std::string> ChooseRun(const ReportFlags& flags) {
  const std::vector<std::string> paths = RunsAt(flags.run);
  if (paths.size() == 1) {
    return paths.front();
  }
  REPRISE_ASSIGN(const std::vector<RepeatedRun> runs, ReadRepeats(paths));
  const std::string& chosen = runs[MiddleOf(runs)].path;
  if (!flags.json && !flags.quiet) {
    fmt::print("{}: of {} runs the one with the median step; compare takes all of them\n",
               ShownText(chosen), runs.size());
  }
  return chosen;
}

Result<Analysis> AnalyzeTrace(const std::string& path, const AnalysisOptions& options) {
  REPRISE_ASSIGN(const RunData run, ReadExecution(path));
  Analysis analysis = AnalyzeRun(MeasuredRun(run), options);
  AddInferencePhases(run, analysis.report);
  return analysis;
}

Result<Analysis> AnalyzeChosen(const std::string& run, const AnalysisOptions& options) {
  REPRISE_ASSIGN(Analysis analysis, AnalyzeRun(run, options));
  REPRISE_TRY(AddInferencePhases(run, analysis.report));
  return analysis;
}

Result<int> RunReport(const ReportFlags& flags, Processes& processes) {
  if (!flags.section.empty()) {
    REPRISE_TRY(FindSection(flags.section));  // before a large run is read
  }
  std::optional<OutputFile> page;
  if (!flags.output.empty()) {
    if (!flags.output.ends_with(".html")) {
      return UsageError(fmt::format(
          "report: -o {}: the report is written as HTML, so the name must end in .html; for JSON "
          "use --json > FILE",
          flags.output));
    }
    // Before anything is read: a name that can't be written should cost nothing.
    if (processes.first()) {
      REPRISE_ASSIGN(page, OutputFile::Create(flags.output, flags.force));
    }
  } else if (flags.quiet || flags.force) {
    return UsageError("report: --quiet and --force go with -o FILE.html");
  }
  KeepFreedMemory();  // a large run is read rank by rank
  const AnalysisOptions options{.page = !flags.output.empty(),
                                .same_machine = flags.same_machine,
                                .memory_bytes = flags.memory};
  const bool trace = IsTrace(flags.run);
  std::string run = flags.run;
  if (!trace) {
    REPRISE_ASSIGN(run, ChooseRun(flags));
    REPRISE_TRY(ShareSums(run, options, processes));
  }
  if (!processes.first()) {
    return 0;
  }
  REPRISE_ASSIGN(Analysis analysis,
                 trace ? AnalyzeTrace(run, options) : AnalyzeChosen(run, options));
  const Report& report = analysis.report;
  if (page) {
    page->stream() << HtmlText(report, *analysis.page);
    REPRISE_TRY(page->Commit());
  }
  if (flags.json || !flags.quiet) {
    REPRISE_ASSIGN(const std::string text, TextOf(report, flags));
    fmt::print("{}", flags.json ? ShownJson(text) : ShownStyledLines(text));
  }
  if (page && !flags.json && !flags.quiet) {
    fmt::print("page written to {}\n", ShownText(flags.output));
  }
  return 0;
}

}  // namespace

CommandBody RegisterReport(CLI::App& app, const CommandContext& context) {
  auto flags = std::make_shared<ReportFlags>();
  app.description("Report on a run or a trace set: how long a step took, and where the time went");
  app.add_option(
         "RUN", flags->run,
         "a directory that replay, simulate or monitor wrote, or a directory of runs; or a trace "
         "set: what was recorded")
      ->required();
  app.add_flag("--json", flags->json, "one JSON object instead of text");
  app.add_flag("--full", flags->full, "every section");
  app.add_option("--section", flags->section,
                 fmt::format("one section: {}", fmt::join(SectionNames(), ", ")))
      ->type_name("NAME");
  app.add_flag("--same-machine", flags->same_machine,
               "the run was recorded on this machine: differences are errors");
  app.add_option("-o,--output", flags->output,
                 "also write one HTML page with charts, which needs no network")
      ->type_name("FILE.html");
  app.add_option(
         "--memory", flags->memory,
         "memory limit, e.g. 8GiB (default: the machine's memory); a run that needs more is "
         "read rank by rank")
      ->transform(CLI::AsSizeValue(false));
  app.add_flag("--quiet", flags->quiet, "with -o: print no text");
  app.add_flag("--force", flags->force, "with -o: replace the file");
  return [&context, flags] { return RunReport(*flags, *context.processes); };
}

}  // namespace reprise
