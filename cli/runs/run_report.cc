#include "cli/runs/run_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <numeric>
#include <vector>

#include "cli/program/launched_rank.h"
#include "cli/program/show_json.h"
#include "core/log.h"
#include "core/shown_text.h"
#include "report/analysis.h"
#include "report/operations/inference_phases.h"
#include "report/run/row_columns.h"
#include "report/run/run.h"
#include "report/sections/sections.h"
#include "report/stored_sums.h"
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

void KeepSums(const std::string& run, std::span<const std::int32_t> ranks) {
  if (const Status kept = StoreSums(run, ranks, kColumnsFromBytes); !kept) {
    LogWarning(kept.error().message + "; the first report takes longer");
  }
}

void KeepSums(const std::string& run) {
  const Result<RunManifest> manifest = ReadManifest(run);
  std::vector<std::int32_t> ranks(manifest ? static_cast<std::size_t>(manifest->world_size)
                                           : std::size_t{0});
  std::iota(ranks.begin(), ranks.end(), 0);
  KeepSums(run, ranks);
}

}  // namespace reprise
