#include "cli/runs/run_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include "cli/program/launched_rank.h"
#include "cli/program/show_json.h"
#include "core/shown_text.h"
#include "report/analysis.h"
#include "report/operations/inference_phases.h"
#include "report/run/run.h"
#include "report/sections/sections.h"
#include "report/text/short_text.h"
#include "report/values/report.h"

namespace reprise {

Status PrintRunReport(const std::string& run, bool json) {
  REPRISE_ASSIGN(const RunManifest manifest, ReadManifest(run));
  const bool large = manifest.world_size > kMaxRanksInFull;
  if (large && !json) {
    fmt::print("run of {} ranks written to {}; see: reprise report {}\n", manifest.world_size,
               ShownText(run), ShownText(run));
    return {};
  }
  REPRISE_ASSIGN(Analysis analysis, AnalyzeRun(run));
  REPRISE_TRY(AddInferencePhases(run, analysis.report));
  if (json) {
    fmt::print("{}", ShownJson(JsonText(analysis.report)));
    return {};
  }
  fmt::print("{}\nrun written to {}; all of the report: reprise report {} --full\n",
             ShownStyledLines(ShortText(analysis.report, ShownOnTerminal(STDOUT_FILENO))),
             ShownText(run), ShownText(run));
  return {};
}

}  // namespace reprise
