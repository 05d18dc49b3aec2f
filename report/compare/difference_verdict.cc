#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "report/compare/operation_difference.h"
#include "report/text/table.h"

namespace reprise {
namespace {

// Below this the sentence says that both take the same time.
constexpr double kSameTime = 0.005;

std::string ChangeText(const std::string& name, std::int64_t ns, std::optional<double> ratio) {
  return ratio ? fmt::format("{} {} ({:.2f}x)", name, SignedDurationText(ns), *ratio)
               : fmt::format("{} {}", name, SignedDurationText(ns));
}

struct Cause {
  std::string name;
  std::int64_t ns = 0;
  std::optional<double> ratio;
};

// What a step is made of: operations by class, and the time in which none ran.
std::vector<Cause> CausesOf(const OperationDifference& of) {
  std::vector<Cause> causes;
  for (const AlignedRow& row : of.classes) {
    causes.push_back({row.name, row.difference_ns(), row.ratio()});
  }
  const auto add = [&causes](const char* name, std::int64_t a, std::int64_t b) {
    causes.push_back({name, b - a, RatioOf(a, b)});
  };
  const RankActivity& a = of.totals_a.activity;
  const RankActivity& b = of.totals_b.activity;
  const bool launches = of.totals_a.on_device && of.launches_known;
  add(launches                ? "waiting for launches"
      : of.totals_a.on_device ? "idle time"
                              : "time between operations",
      launches ? a.launch_wait_ns : a.other_idle_ns, launches ? b.launch_wait_ns : b.other_idle_ns);
  std::ranges::stable_sort(causes, std::greater(), [](const Cause& of) { return std::abs(of.ns); });
  return causes;
}

}  // namespace

std::string DifferenceVerdict(const JobOperations& a, const JobOperations& b,
                              const OperationDifference& of) {
  if (!of.IsOneJob()) {
    return fmt::format(
        "{} and {} are not of one job: {:.1f} % of their operations align, with {:.1f} % of the "
        "time",
        a.label, b.label, 100 * of.share(), 100 * of.time_share());
  }
  const std::int64_t a_ns = of.totals_a.step_ns;
  const std::int64_t b_ns = of.totals_b.step_ns;
  if (a_ns <= 0 || b_ns <= 0) {
    return fmt::format("{} or {} has no step time", a.label, b.label);
  }
  const double ratio = static_cast<double>(b_ns) / static_cast<double>(a_ns);
  std::string text =
      std::abs(ratio - 1) < kSameTime
          ? fmt::format("{} and {} take the same time: {} a step", a.label, b.label,
                        DurationText(a_ns))
          : fmt::format("{} takes {:.2f}x as long as {}: {} against {} a step", b.label, ratio,
                        a.label, DurationText(b_ns), DurationText(a_ns));
  const std::vector<Cause> causes = CausesOf(of);
  const double least = 0.01 * static_cast<double>(std::max(of.totals_a.activity.steps_ns,
                                                           of.totals_b.activity.steps_ns));
  const std::string begin = of.ranks.size() > 1 ? "; mean of the ranks: " : "; ";
  std::string parts;
  for (std::size_t i = 0; i < std::min<std::size_t>(causes.size(), 2); ++i) {
    if (std::abs(static_cast<double>(causes[i].ns)) >= least) {
      parts += (parts.empty() ? begin : ", ") +
               ChangeText(causes[i].name, of.StepNs(causes[i].ns), causes[i].ratio);
    }
  }
  if (!of.shapes.empty() &&
      std::abs(static_cast<double>(of.shapes.front().difference_ns())) >= least) {
    const AlignedRow& row = of.shapes.front();
    const std::string shape = row.shape.empty() ? "" : " " + Fit(row.shape, 50);
    parts += "; above all " +
             ChangeText(Fit(row.name, 40) + shape, of.StepNs(row.difference_ns()), row.ratio());
  }
  return text + parts;
}

}  // namespace reprise
