#include "telemetry/steadiness.h"

#include <cmath>

namespace reprise {

Steadiness::Steadiness(std::span<const Metric> metrics, std::int64_t window_ns)
    : window_ns_(window_ns) {
  for (const Metric& metric : metrics) {
    if (metric.unit == "celsius") {
      readings_[metric.id];
    }
  }
}

void Steadiness::Add(std::span<const Sample> samples) {
  const std::lock_guard lock(mutex_);
  for (const Sample& sample : samples) {
    const auto found = readings_.find(sample.metric);
    if (found == readings_.end()) {
      continue;
    }
    std::deque<Sample>& kept = found->second;
    kept.push_back(sample);
    // One that is older than both windows stays: it shows that they are full.
    while (kept.size() > 1 && kept[1].time_ns < sample.time_ns - 2 * window_ns_) {
      kept.pop_front();
    }
  }
}

bool Steadiness::Settled(std::int64_t now_ns) const {
  const std::lock_guard lock(mutex_);
  std::size_t settled = 0;
  for (const auto& [unused, kept] : readings_) {
    double sum[2] = {};
    int count[2] = {};
    for (const Sample& sample : kept) {
      const std::int64_t age_ns = now_ns - sample.time_ns;
      if (age_ns >= 0 && age_ns < 2 * window_ns_) {
        const int window = age_ns < window_ns_ ? 0 : 1;
        sum[window] += sample.value;
        ++count[window];
      }
    }
    if (count[0] == 0) {
      continue;
    }
    const bool full = now_ns - kept.front().time_ns >= 2 * window_ns_;
    if (!full || count[1] == 0 ||
        std::abs(sum[0] / count[0] - sum[1] / count[1]) >= kToleranceCelsius) {
      return false;
    }
    ++settled;
  }
  return settled > 0;
}

}  // namespace reprise
