// A meter's energy as a function of time, with the intervals in which it was not read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/sampled_energy.h"
#include "report/nodes/intervals.h"

namespace reprise {

// Over one window; joules count from its begin. Its total is IntegrateEnergyJoules's.
class PowerCurve {
 public:
  // Readings further apart than this many sampling periods leave a gap: what was between is known
  // by interpolation only.
  static constexpr int kGapPeriods = 5;

  // `samples` of one metric, by time. Nothing if fewer than two fall inside the window.
  static std::optional<PowerCurve> Build(const Metric& metric, std::span<const Sample> samples,
                                         Interval window);

  [[nodiscard]] double total_joules() const { return joules_.back(); }
  // `hint` is where the last time was found: times that grow are found in one walk.
  [[nodiscard]] double JoulesUntil(std::int64_t time_ns, std::size_t& hint) const;
  [[nodiscard]] double JoulesUntil(std::int64_t time_ns) const;
  [[nodiscard]] const std::vector<Interval>& gaps() const { return gaps_; }
  [[nodiscard]] Interval window() const {
    return {points_.front().time_ns, points_.back().time_ns};
  }
  // Least and most power between two changes of the meter.
  [[nodiscard]] double min_watts() const { return min_watts_; }
  [[nodiscard]] double max_watts() const { return max_watts_; }

 private:
  PowerCurve() = default;
  void FindRange();

  MetricKind kind_ = MetricKind::kGauge;
  std::vector<EnergyPoint> points_;
  std::vector<double> joules_;  // at each point
  std::vector<Interval> gaps_;
  double min_watts_ = 0, max_watts_ = 0;
};

// The median distance from a time to the next. Nothing for fewer than two times.
[[nodiscard]] std::optional<std::int64_t> MedianDistance(const std::vector<std::int64_t>& times_ns);

// Median time between changes of a metric's value: how often its meter brings anything new, as far
// as the sampling shows. Nothing for fewer than three changes.
[[nodiscard]] std::optional<std::int64_t> UpdateIntervalNs(std::span<const Sample> samples);

}  // namespace reprise
