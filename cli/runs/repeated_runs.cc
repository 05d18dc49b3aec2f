#include "cli/runs/repeated_runs.h"

#include <algorithm>

#include "cli/program/given_path.h"
#include "report/analysis.h"

namespace reprise {

std::vector<std::string> RunsAt(const std::string& path) {
  if (FindPathKind(path) == PathKind::kRun) {
    return {path};
  }
  std::vector<std::string> runs = DirectoriesOfKind(path, PathKind::kRun);
  return runs.empty() ? std::vector<std::string>{path} : runs;
}

Result<std::vector<RepeatedRun>> ReadRepeats(const std::vector<std::string>& paths) {
  std::vector<RepeatedRun> runs;
  for (const std::string& path : paths) {
    REPRISE_ASSIGN(const Analysis analysis, AnalyzeRun(path));
    runs.push_back({path, analysis.report.step_time_replayed_ns.value_or(0)});
  }
  std::ranges::stable_sort(runs, {}, &RepeatedRun::step_ns);
  return runs;
}

std::size_t MiddleOf(const std::vector<RepeatedRun>& runs) { return (runs.size() - 1) / 2; }

}  // namespace reprise
