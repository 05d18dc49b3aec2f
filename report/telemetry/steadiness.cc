#include "report/telemetry/steadiness.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace reprise {
namespace {

bool IsTemperature(const Metric& metric) { return metric.unit == "celsius"; }

enum class State { kSilent, kChanging, kSettled };

State StateOf(const std::vector<Sample>& samples, std::int64_t now_ns, std::int64_t window_ns) {
  double sum[2] = {};
  int count[2] = {};  // of the last window, of the one before
  for (const Sample& sample : samples) {
    const std::int64_t age_ns = now_ns - sample.time_ns;
    if (age_ns >= 0 && age_ns < 2 * window_ns) {
      const int window = age_ns < window_ns ? 0 : 1;
      sum[window] += sample.value;
      ++count[window];
    }
  }
  if (count[0] == 0) {
    return State::kSilent;
  }
  const bool full = now_ns - samples.front().time_ns >= 2 * window_ns && count[1] > 0;
  return full && std::abs(sum[0] / count[0] - sum[1] / count[1]) < kSteadyToleranceCelsius
             ? State::kSettled
             : State::kChanging;
}

}  // namespace

bool HasTemperatures(std::span<const Metric> metrics) {
  return std::any_of(metrics.begin(), metrics.end(), IsTemperature);
}

bool HasSettled(std::span<const Metric> metrics, const RecentSamples& recent, std::int64_t now_ns,
                std::int64_t window_ns) {
  bool any = false;
  for (const Metric& metric : metrics) {
    if (!IsTemperature(metric)) {
      continue;
    }
    const State state = StateOf(recent.Of(metric.id), now_ns, window_ns);
    if (state == State::kChanging) {
      return false;
    }
    any = any || state == State::kSettled;
  }
  return any;
}

}  // namespace reprise
