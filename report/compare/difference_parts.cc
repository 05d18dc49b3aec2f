// Where a side's step differs from the first side's.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "report/compare/rows.h"

namespace reprise {
namespace {

// Both are explained against one recording, so its part in each cancels out.
bool ShareRecording(const Report& a, const Report& b) {
  return a.details.difference && b.details.difference &&
         a.manifest.trace_hash == b.manifest.trace_hash &&
         a.details.difference->recorded_ns == b.details.difference->recorded_ns;
}

void AddPathTimes(const Report& report, double sign, std::map<std::string, double>& seconds) {
  for (const DifferenceRow& row : report.details.difference->parts) {
    seconds[row.name] += sign * static_cast<double>(row.ns) * 1e-9;
  }
}

void AddBusyTimes(const Report& report, double sign, std::map<std::string, double>& seconds) {
  for (const ClassRow& row : report.classes) {
    seconds[row.name] += sign * static_cast<double>(row.replayed_ns.value_or(0)) * 1e-9;
  }
}

}  // namespace

std::vector<PathPart> CriticalPathOf(const Report& report) {
  std::vector<PathPart> parts;
  for (const PathRow& row : report.details.critical_path) {
    if (row.replayed_ns != 0) {
      parts.push_back({row.name, row.replayed_ns});
    }
  }
  std::ranges::stable_sort(parts, std::greater(), &PathPart::ns);
  return parts;
}

std::optional<DifferenceParts> ExplainParts(const ComparedSide& side, const ComparedSide& base) {
  const Report& after = MiddleRun(side).report;
  const Report& before = MiddleRun(base).report;
  DifferenceParts out;
  std::map<std::string, double> seconds;
  out.on_critical_path = ShareRecording(before, after);
  const auto add = out.on_critical_path ? AddPathTimes : AddBusyTimes;
  add(after, 1, seconds);
  add(before, -1, seconds);
  if (out.on_critical_path) {
    out.base_seconds = static_cast<double>(before.details.difference->replayed_ns) * 1e-9;
  } else {
    std::map<std::string, double> of_base;
    AddBusyTimes(before, 1, of_base);
    for (const auto& [name, part] : of_base) {
      out.base_seconds += part;
    }
  }
  for (const auto& [name, part] : seconds) {
    if (part != 0) {
      out.parts.push_back({name, part});
      out.seconds += part;
    }
  }
  if (out.parts.empty()) {
    return std::nullopt;
  }
  std::ranges::stable_sort(out.parts, std::greater{},
                           [](const auto& row) { return std::abs(row.seconds); });
  return out;
}

}  // namespace reprise
