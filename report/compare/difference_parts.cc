// Where a side's step differs from the first side's.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

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

std::optional<DifferenceParts::Calls> CallsAboveAll(const Report& before, const Report& after,
                                                    double seconds) {
  constexpr double kWorthAWord = 0.1;  // of the whole difference
  using Key = std::pair<std::string_view, std::string_view>;
  std::map<Key, std::int64_t> before_ns;
  for (const ShapeRow& row : before.shapes) {
    before_ns[{row.name, row.shape}] += row.replayed_ns;
  }
  std::map<Key, std::int64_t> difference_ns;
  for (const ShapeRow& row : after.shapes) {
    if (const auto known = before_ns.find({row.name, row.shape}); known != before_ns.end()) {
      difference_ns.try_emplace(known->first, -known->second).first->second += row.replayed_ns;
    }
  }
  const double sign = seconds < 0 ? -1 : 1;
  const auto along = [sign](const auto& of) { return sign * static_cast<double>(of.second); };
  const auto top = std::ranges::max_element(difference_ns, {}, along);
  if (top == difference_ns.end() || along(*top) * 1e-9 < kWorthAWord * std::abs(seconds)) {
    return std::nullopt;
  }
  const auto base_ns = static_cast<double>(before_ns.at(top->first));
  const auto ns = static_cast<double>(top->second);
  return DifferenceParts::Calls{
      .name = std::string(top->first.first),
      .shape = std::string(top->first.second),
      .seconds = ns * 1e-9,
      .ratio = base_ns > 0 ? std::optional((base_ns + ns) / base_ns) : std::nullopt};
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
  out.above_all = CallsAboveAll(before, after, out.seconds);
  return out;
}

}  // namespace reprise
