#include "report/telemetry/recent.h"

namespace reprise {

void RecentSamples::Add(std::span<const Sample> samples) {
  const std::lock_guard lock(mutex_);
  for (const Sample& sample : samples) {
    std::deque<Sample>& kept = samples_[sample.metric];
    kept.push_back(sample);
    while (kept.size() > 1 && kept[1].time_ns < sample.time_ns - kept_ns_) {
      kept.pop_front();
    }
  }
}

std::vector<Sample> RecentSamples::Of(std::int32_t metric) const {
  const std::lock_guard lock(mutex_);
  const auto found = samples_.find(metric);
  return found == samples_.end() ? std::vector<Sample>()
                                 : std::vector<Sample>(found->second.begin(), found->second.end());
}

std::optional<Sample> RecentSamples::Last(std::int32_t metric) const {
  const std::lock_guard lock(mutex_);
  const auto found = samples_.find(metric);
  return found == samples_.end() ? std::nullopt : std::optional(found->second.back());
}

}  // namespace reprise
