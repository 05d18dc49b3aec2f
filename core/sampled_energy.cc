#include "core/sampled_energy.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace reprise {
namespace {

double Interpolate(const EnergyPoint& a, const EnergyPoint& b, std::int64_t time_ns) {
  if (a.time_ns == b.time_ns) {
    return b.value;
  }
  const double share =
      static_cast<double>(time_ns - a.time_ns) / static_cast<double>(b.time_ns - a.time_ns);
  return a.value + share * (b.value - a.value);
}

std::vector<EnergyPoint> Readings(MetricKind kind, std::span<const Sample> samples) {
  std::vector<EnergyPoint> points;
  EnergyPoint last;
  bool repeated = false;  // `last` is not in `points`
  for (const Sample& sample : samples) {
    if (std::isnan(sample.value)) {
      continue;
    }
    last = {sample.time_ns, sample.value};
    repeated = kind == MetricKind::kEnergy && !points.empty() && points.back().value == last.value;
    if (!repeated) {
      points.push_back(last);
    }
  }
  if (repeated) {
    points.push_back(last);
  }
  return points;
}

bool EnoughInside(std::span<const Sample> samples, std::int64_t begin_ns, std::int64_t end_ns) {
  return std::count_if(samples.begin(), samples.end(), [=](const Sample& sample) {
           return sample.time_ns >= begin_ns && sample.time_ns <= end_ns &&
                  !std::isnan(sample.value);
         }) >= 2;
}

}  // namespace

std::vector<EnergyPoint> EnergyPoints(MetricKind kind, std::span<const Sample> samples,
                                      std::int64_t begin_ns, std::int64_t end_ns) {
  if (!EnoughInside(samples, begin_ns, end_ns)) {
    return {};
  }
  const std::vector<EnergyPoint> readings = Readings(kind, samples);
  const auto first = std::find_if(readings.begin(), readings.end(), [=](const EnergyPoint& point) {
    return point.time_ns >= begin_ns;
  });
  const auto last = std::find_if(first, readings.end(), [=](const EnergyPoint& point) {
    return point.time_ns > end_ns;
  });  // one past
  // The value at a bound that lies between two readings, or beside the only one.
  const auto at_bound = [&readings](auto after, std::int64_t time_ns) -> EnergyPoint {
    if (after == readings.end()) {
      return {time_ns, readings.back().value};
    }
    return {time_ns,
            after == readings.begin() ? after->value : Interpolate(*(after - 1), *after, time_ns)};
  };
  std::vector<EnergyPoint> points = {at_bound(first, begin_ns)};
  points.insert(points.end(), first, last);
  points.push_back(at_bound(last, end_ns));
  return points;
}

double JoulesBetween(MetricKind kind, const EnergyPoint& a, const EnergyPoint& b) {
  return kind == MetricKind::kEnergy
             ? b.value - a.value
             : 0.5 * (a.value + b.value) * static_cast<double>(b.time_ns - a.time_ns) * 1e-9;
}

double IntegrateEnergyJoules(MetricKind kind, std::span<const Sample> samples,
                             std::int64_t begin_ns, std::int64_t end_ns) {
  const std::vector<EnergyPoint> points = EnergyPoints(kind, samples, begin_ns, end_ns);
  if (points.empty()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  double joules = 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    joules += JoulesBetween(kind, points[i - 1], points[i]);
  }
  return joules;
}

}  // namespace reprise
