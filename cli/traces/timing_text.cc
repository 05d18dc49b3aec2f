#include "cli/traces/timing_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace reprise {
namespace {

double Milliseconds(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

std::string ScopeOf(const TimingRow& row) {
  return row.rank ? fmt::format("rank {}", *row.rank) : "set";
}

void PrintLimits() {
  fmt::print(
      "  ok means: error at most {:g} %, no violated edge, unexplained under {:g} % of the step\n",
      100 * TimingLimits::kError, 100 * TimingLimits::kUnexplained);
}

}  // namespace

void PrintTimingSummary(const std::vector<TimingRow>& rows) {
  constexpr std::size_t kMaxFailed = 5;
  if (rows.empty()) {
    return;
  }
  const TimingRow& whole = rows.back();  // the set, or the only rank
  double unexplained = 0;
  std::size_t failed = 0;
  for (const TimingRow& row : rows) {
    unexplained = std::max(unexplained, row.unexplained_fraction());
    failed += row.Ok() ? 0 : 1;
  }
  fmt::print(
      "  timing: recorded {:.3f} ms, dry run {:.3f} ms, error {:.3f} %; {}{:.2f} % of "
      "the step unexplained\n",
      Milliseconds(whole.recorded_ns), Milliseconds(whole.dry_run_ns), 100 * whole.error,
      rows.size() == 1 ? "" : "at most ", 100 * unexplained);
  std::size_t shown = 0;
  for (const TimingRow& row : rows) {
    if (!row.Ok() && shown++ < kMaxFailed) {
      fmt::print("  {}: FAILED, error {:.3f} %, {} violated edges{}\n", ScopeOf(row),
                 100 * row.error, row.violated_edges,
                 row.details.empty() ? "" : "; " + row.details.front());
    }
  }
  if (failed > kMaxFailed) {
    fmt::print("  {} more failed; -v lists them\n", failed - kMaxFailed);
  }
  if (failed > 0) {
    PrintLimits();
  }
}

void PrintTimingTable(const std::vector<TimingRow>& rows) {
  fmt::print("  {:<8}{:>13}{:>13}{:>9}{:>10}{:>23}{:>12}{:>11}  {}\n", "scope", "recorded ms",
             "dry run ms", "error", "violated", "unexplained ms", "wakeup ms", "clock us",
             "verdict");
  for (const TimingRow& row : rows) {
    fmt::print(
        "  {:<8}{:>13.3f}{:>13.3f}{:>8.3f}%{:>10}{:>13.3f} ({:>5.2f}%){:>13.3f}{:>11.1f}  {}\n",
        ScopeOf(row), Milliseconds(row.recorded_ns), Milliseconds(row.dry_run_ns), 100 * row.error,
        row.violated_edges, Milliseconds(row.unexplained_ns), 100 * row.unexplained_fraction(),
        Milliseconds(row.wakeup_ns), static_cast<double>(row.clock_uncertainty_ns) / 1e3,
        row.Ok() ? "ok" : "FAILED");
  }
  for (const TimingRow& row : rows) {
    for (const std::string& detail : row.Ok() ? std::vector<std::string>{} : row.details) {
      fmt::print("    {}: {}\n", ScopeOf(row), detail);
    }
  }
  PrintLimits();
}

}  // namespace reprise
