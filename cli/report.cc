// reprise report RUN [--json]
#include "report/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "run/run.h"

namespace reprise {
namespace {

struct ReportFlags {
  std::string run;
  std::string output;
  bool json = false;
};

Result<int> RunReport(const ReportFlags& flags) {
  if (!flags.output.empty()) {
    return UsageError(
        "report: there is no HTML writer yet; leave out -o for the console, or use "
        "--json > FILE");
  }
  REPRISE_ASSIGN(const RunData run, ReadRun(flags.run));
  const Report report = Analyze(run);
  const std::string text =
      flags.json ? JsonText(report) : ConsoleText(report, isatty(STDOUT_FILENO) == 1);
  fmt::print("{}", text);
  return 0;
}

}  // namespace

CommandBody RegisterReport(CLI::App& app, const CommandContext& /*context*/) {
  auto flags = std::make_shared<ReportFlags>();
  app.description("What a run says: coverage, times, transfers, energy");
  app.add_option("run", flags->run, "directory written by replay")->required();
  app.add_flag("--json", flags->json, "one JSON object instead of text");
  // Known, so that it is refused with a reason; not shown by --help.
  app.add_option("-o,--output", flags->output)->group("");
  return [flags] { return RunReport(*flags); };
}

}  // namespace reprise
