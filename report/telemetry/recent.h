// The last samples of every metric: for what looks at telemetry while it is recorded.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "core/records.h"

namespace reprise {

// Thread-safe.
class RecentSamples {
 public:
  explicit RecentSamples(std::int64_t kept_ns) : kept_ns_(kept_ns) {}
  void Add(std::span<const Sample> samples);
  // By time; those of the last kept_ns and one that is older, where there has been one. Empty if
  // the metric has none.
  [[nodiscard]] std::vector<Sample> Of(std::int32_t metric) const;
  [[nodiscard]] std::optional<Sample> Last(std::int32_t metric) const;

 private:
  const std::int64_t kept_ns_;
  mutable std::mutex mutex_;
  std::map<std::int32_t, std::deque<Sample>> samples_;  // by metric
};

}  // namespace reprise
