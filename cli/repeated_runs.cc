#include "cli/repeated_runs.h"

#include <algorithm>
#include <filesystem>

#include "cli/given_path.h"
#include "report/analysis.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

bool IsRun(const fs::path& path) { return FindPathKind(path.string()) == PathKind::kRun; }

}  // namespace

std::vector<std::string> RunsAt(const std::string& path) {
  std::error_code error;
  if (IsRun(path) || !fs::is_directory(path, error)) {
    return {path};
  }
  std::vector<std::string> runs;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    if (IsRun(it->path())) {
      runs.push_back(it->path().string());
    }
  }
  std::ranges::sort(runs);
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
