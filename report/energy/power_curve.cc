#include "report/energy/power_curve.h"

#include <algorithm>
#include <cmath>

#include "core/median.h"
#include "report/nodes/measured.h"

namespace reprise {
namespace {

// What the sampler was asked for, or what it did where that was less often.
std::int64_t PeriodNs(const Metric& metric, const std::vector<std::int64_t>& times_ns) {
  return std::max(metric.period_ns, MedianDistance(times_ns).value_or(0));
}

// Between readings around the window, and between its bounds and readings that are missing there.
std::vector<Interval> FindGaps(const Metric& metric, std::span<const Sample> samples,
                               Interval window) {
  std::vector<std::int64_t> times_ns;
  for (const Sample& sample : samples) {
    if (!std::isnan(sample.value)) {
      times_ns.push_back(sample.time_ns);
    }
  }
  const std::int64_t longest_ns = PowerCurve::kGapPeriods * PeriodNs(metric, times_ns);
  if (times_ns.front() > window.first) {
    times_ns.insert(times_ns.begin(), window.first);
  }
  if (times_ns.back() < window.second) {
    times_ns.push_back(window.second);
  }
  std::vector<Interval> gaps;
  for (std::size_t i = 1; i < times_ns.size(); ++i) {
    const Interval inside = {std::max(times_ns[i - 1], window.first),
                             std::min(times_ns[i], window.second)};
    if (times_ns[i] - times_ns[i - 1] > longest_ns && inside.first < inside.second) {
      gaps.push_back(inside);
    }
  }
  return gaps;
}

}  // namespace

std::optional<PowerCurve> PowerCurve::Build(const Metric& metric, std::span<const Sample> samples,
                                            Interval window) {
  PowerCurve curve;
  curve.kind_ = metric.kind;
  curve.points_ = EnergyPoints(metric.kind, samples, window.first, window.second);
  if (curve.points_.empty()) {
    return std::nullopt;
  }
  curve.joules_ = {0};
  for (std::size_t i = 1; i < curve.points_.size(); ++i) {
    curve.joules_.push_back(curve.joules_.back() +
                            JoulesBetween(metric.kind, curve.points_[i - 1], curve.points_[i]));
  }
  curve.gaps_ = FindGaps(metric, samples, window);
  curve.FindRange();
  return curve;
}

// Of a total: without the parts of an update at the window's bounds, where a meter that had not
// counted yet looks like no power.
void PowerCurve::FindRange() {
  bool any = false;
  const auto add = [this, &any](double watts) {
    min_watts_ = any ? std::min(min_watts_, watts) : watts;
    max_watts_ = any ? std::max(max_watts_, watts) : watts;
    any = true;
  };
  for (std::size_t i = 1; i < points_.size(); ++i) {
    if (kind_ != MetricKind::kEnergy) {
      add(points_[i].value);
    } else if (i > 1 && i + 1 < points_.size() && points_[i].time_ns > points_[i - 1].time_ns) {
      add((points_[i].value - points_[i - 1].value) /
          (static_cast<double>(points_[i].time_ns - points_[i - 1].time_ns) * 1e-9));
    }
  }
}

double PowerCurve::JoulesUntil(std::int64_t time_ns, std::size_t& hint) const {
  if (time_ns >= points_.back().time_ns) {
    return joules_.back();
  }
  while (points_[hint + 1].time_ns <= time_ns) {
    ++hint;
  }
  const EnergyPoint& a = points_[hint];
  const EnergyPoint& b = points_[hint + 1];
  if (time_ns <= a.time_ns) {
    return joules_[hint];
  }
  const double share =
      static_cast<double>(time_ns - a.time_ns) / static_cast<double>(b.time_ns - a.time_ns);
  return joules_[hint] + JoulesBetween(kind_, a, {time_ns, a.value + share * (b.value - a.value)});
}

double PowerCurve::JoulesUntil(std::int64_t time_ns) const {
  const auto after = std::upper_bound(
      points_.begin(), points_.end(), time_ns,
      [](std::int64_t ns, const EnergyPoint& point) { return ns < point.time_ns; });
  std::size_t hint =
      after == points_.begin() ? 0 : static_cast<std::size_t>(after - points_.begin()) - 1;
  return JoulesUntil(time_ns, hint);
}

std::optional<std::int64_t> MedianDistance(const std::vector<std::int64_t>& times_ns) {
  std::vector<std::int64_t> distances_ns;
  for (std::size_t i = 1; i < times_ns.size(); ++i) {
    distances_ns.push_back(times_ns[i] - times_ns[i - 1]);
  }
  return Median(distances_ns);
}

std::optional<std::int64_t> UpdateIntervalNs(std::span<const Sample> samples) {
  constexpr std::size_t kFewestChanges = 3;
  std::vector<std::int64_t> changes_ns;
  std::optional<double> value;
  for (const Sample& sample : samples) {
    if (std::isnan(sample.value)) {
      continue;
    }
    if (value && sample.value != *value) {
      changes_ns.push_back(sample.time_ns);
    }
    value = sample.value;
  }
  if (changes_ns.size() < kFewestChanges) {
    return std::nullopt;
  }
  return MedianDistance(changes_ns);
}

}  // namespace reprise
