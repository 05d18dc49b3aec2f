#include "core/energy.h"

#include <cmath>
#include <limits>
#include <vector>

namespace reprise {
namespace {

struct Point {
  std::int64_t time_ns;
  double value;
};

double Interpolate(const Point& a, const Point& b, std::int64_t time_ns) {
  if (a.time_ns == b.time_ns) {
    return b.value;
  }
  const double share =
      static_cast<double>(time_ns - a.time_ns) / static_cast<double>(b.time_ns - a.time_ns);
  return a.value + share * (b.value - a.value);
}

}  // namespace

double IntegrateEnergyJoules(MetricKind kind, std::span<const Sample> samples,
                             std::int64_t begin_ns, std::int64_t end_ns) {
  std::vector<Point> points;
  for (const Sample& sample : samples) {
    if (!std::isnan(sample.value)) {
      points.push_back({sample.time_ns, sample.value});
    }
  }
  std::size_t first = 0;
  while (first < points.size() && points[first].time_ns < begin_ns) {
    ++first;
  }
  std::size_t last = points.size();  // one past
  while (last > first && points[last - 1].time_ns > end_ns) {
    --last;
  }
  if (last - first < 2) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const bool power = kind != MetricKind::kEnergy;
  std::vector<Point> inside;
  if (first > 0) {
    inside.push_back({begin_ns, Interpolate(points[first - 1], points[first], begin_ns)});
  } else if (power) {
    inside.push_back({begin_ns, points[first].value});
  }
  inside.insert(inside.end(), points.begin() + static_cast<std::ptrdiff_t>(first),
                points.begin() + static_cast<std::ptrdiff_t>(last));
  if (last < points.size()) {
    inside.push_back({end_ns, Interpolate(points[last - 1], points[last], end_ns)});
  } else if (power) {
    inside.push_back({end_ns, points[last - 1].value});
  }
  if (!power) {
    return inside.back().value - inside.front().value;
  }
  double joules = 0;
  for (std::size_t i = 1; i < inside.size(); ++i) {
    joules += 0.5 * (inside[i - 1].value + inside[i].value) *
              static_cast<double>(inside[i].time_ns - inside[i - 1].time_ns) * 1e-9;
  }
  return joules;
}

}  // namespace reprise
