#include "report/energy/power_peaks.h"

#include <algorithm>
#include <cmath>

namespace reprise {
namespace {

double LengthNs(const SeriesStep& step) { return static_cast<double>(step.end_ns - step.begin_ns); }

// Standard deviation over time.
double DeviationOf(std::span<const SeriesStep> steps, double mean) {
  double squares = 0, ns = 0;
  for (const SeriesStep& step : steps) {
    squares += (step.value - mean) * (step.value - mean) * LengthNs(step);
    ns += LengthNs(step);
  }
  return std::sqrt(squares / ns);
}

// Steps that touch are one interval.
std::vector<Interval> StretchesAbove(std::span<const SeriesStep> steps, double threshold) {
  std::vector<Interval> intervals;
  for (const SeriesStep& step : steps) {
    if (step.value > threshold) {
      intervals.emplace_back(step.begin_ns, step.end_ns);
    }
  }
  return Union(std::move(intervals));
}

// (s - m) / (s + m) of the times between begins, with their mean m and standard deviation s: -1 for
// a clockwork, 0 for random events (Poisson), 1 for bursts. Goh and Barabasi, "Burstiness and
// memory in complex systems", EPL 81 (2008) 48002.
std::optional<double> BurstinessOf(const std::vector<Interval>& intervals) {
  if (intervals.size() < 3) {
    return std::nullopt;
  }
  const auto n = static_cast<double>(intervals.size() - 1);
  const double mean = static_cast<double>(intervals.back().first - intervals.front().first) / n;
  double squares = 0;
  for (std::size_t i = 1; i < intervals.size(); ++i) {
    const double distance = static_cast<double>(intervals[i].first - intervals[i - 1].first) - mean;
    squares += distance * distance;
  }
  const double deviation = std::sqrt(squares / n);
  return (deviation - mean) / (deviation + mean);
}

}  // namespace

std::optional<PowerPeakRow> DescribePeaks(std::span<const SeriesStep> watts,
                                          std::optional<double> limit_watts) {
  const auto mean = MeanOf(watts);
  if (!mean || watts.size() < 2) {
    return std::nullopt;
  }
  PowerPeakRow row{.mean_watts = *mean, .deviation_watts = DeviationOf(watts, *mean)};
  for (const SeriesStep& step : watts) {
    row.max_watts = std::max(row.max_watts, step.value);
  }
  row.threshold_watts = row.mean_watts + 2 * row.deviation_watts;
  // A power that never changes must not peak for its mean being rounded.
  constexpr double kRounding = 1e-9;
  const std::vector<Interval> above =
      StretchesAbove(watts, row.threshold_watts + kRounding * std::abs(row.mean_watts));
  row.excursions = static_cast<std::int64_t>(above.size());
  row.excursion_ns = Length(above);
  for (const Interval& interval : above) {
    row.longest_ns = std::max(row.longest_ns, interval.second - interval.first);
  }
  row.coefficient_of_variation = *mean > 0 ? row.deviation_watts / *mean : 0;
  row.burstiness = BurstinessOf(above);
  row.limit_watts = limit_watts;
  if (limit_watts) {
    const std::vector<Interval> beyond = StretchesAbove(watts, *limit_watts);
    row.above_limit = static_cast<std::int64_t>(beyond.size());
    row.above_limit_ns = Length(beyond);
  }
  return row;
}

std::optional<HeatingRow> DescribeHeating(std::span<const SeriesStep> celsius) {
  const auto mean = MeanOf(celsius);
  if (!mean || celsius.size() < 2) {
    return std::nullopt;
  }
  HeatingRow row{.begin_celsius = celsius.front().value, .end_celsius = celsius.back().value};
  constexpr double kNsPerMinute = 60e9;
  double mean_minutes = 0, mean_value = 0;
  const auto minutes = [&celsius](const SeriesStep& step) {
    return static_cast<double>(step.begin_ns - celsius.front().begin_ns) / kNsPerMinute;
  };
  const auto n = static_cast<double>(celsius.size());
  row.max_celsius = row.begin_celsius;
  for (const SeriesStep& step : celsius) {
    row.max_celsius = std::max(row.max_celsius, step.value);
    mean_minutes += minutes(step) / n;
    mean_value += step.value / n;
  }
  double products = 0, squares = 0;
  for (const SeriesStep& step : celsius) {
    products += (minutes(step) - mean_minutes) * (step.value - mean_value);
    squares += (minutes(step) - mean_minutes) * (minutes(step) - mean_minutes);
  }
  row.celsius_per_minute = squares > 0 ? products / squares : 0;
  return row;
}

}  // namespace reprise
