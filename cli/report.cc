// reprise report RUN [--json] [-o FILE.html]
#include "report/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/output_file.h"
#include "report/analysis.h"
#include "report/html.h"

namespace reprise {
namespace {

struct ReportFlags {
  std::string run;
  std::string output;
  std::int64_t memory = 0;
  bool json = false;
  bool quiet = false;
  bool force = false;
};

Result<int> RunReport(const ReportFlags& flags) {
  std::optional<OutputFile> page;
  if (!flags.output.empty()) {
    if (!flags.output.ends_with(".html")) {
      return UsageError(fmt::format(
          "report: -o {}: the report is written as HTML, so the name must end in .html; for JSON "
          "use --json > FILE",
          flags.output));
    }
    // Before anything is read: a name that can't be written should cost nothing.
    REPRISE_ASSIGN(page, OutputFile::Create(flags.output, flags.force));
  } else if (flags.quiet || flags.force) {
    return UsageError("report: --quiet and --force go with -o FILE.html");
  }
  REPRISE_ASSIGN(const Analysis analysis,
                 AnalyzeRun(flags.run, {.page = page.has_value(), .memory_bytes = flags.memory}));
  const Report& report = analysis.report;
  if (page) {
    page->stream() << HtmlText(report, *analysis.page);
    REPRISE_TRY(page->Commit());
  }
  if (flags.json) {
    fmt::print("{}", JsonText(report));
  } else if (!flags.quiet) {
    fmt::print("{}", ConsoleText(report, isatty(STDOUT_FILENO) == 1));
  }
  return 0;
}

}  // namespace

CommandBody RegisterReport(CLI::App& app, const CommandContext& /*context*/) {
  auto flags = std::make_shared<ReportFlags>();
  app.description("Report on a run: coverage, times, transfers, energy");
  app.add_option("run", flags->run, "directory written by replay or monitor")->required();
  app.add_flag("--json", flags->json, "one JSON object instead of text");
  app.add_option("-o,--output", flags->output,
                 "also write one HTML page with charts, which needs no network")
      ->type_name("FILE.html");
  app.add_option(
         "--memory", flags->memory,
         "memory limit, e.g. 8GiB (default: the machine's memory); a run that needs more is "
         "read host by host")
      ->transform(CLI::AsSizeValue(false));
  app.add_flag("--quiet", flags->quiet, "with -o: print no text");
  app.add_flag("--force", flags->force, "with -o: replace the file");
  return [flags] { return RunReport(*flags); };
}

}  // namespace reprise
