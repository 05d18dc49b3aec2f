// Whether temperatures have settled: what a warm-up waits for.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "core/metrics.h"
#include "core/records.h"

namespace reprise {

// Thread-safe.
class Steadiness {
 public:
  // A temperature has settled when its mean over the last window differs by less than this from the
  // mean over the window before: with 15 s, less than 2 degrees a minute.
  static constexpr double kToleranceCelsius = 0.5;

  // Looks at metrics in celsius.
  explicit Steadiness(std::span<const Metric> metrics, std::int64_t window_ns = 15'000'000'000);
  [[nodiscard]] bool HasTemperatures() const { return !readings_.empty(); }
  void Add(std::span<const Sample> samples);
  // All have settled. False until two windows are full; a sensor that has fallen silent does not
  // hold up the others.
  [[nodiscard]] bool Settled(std::int64_t now_ns) const;

 private:
  const std::int64_t window_ns_;
  mutable std::mutex mutex_;
  std::map<std::int32_t, std::deque<Sample>> readings_;  // by metric, the last two windows
};

}  // namespace reprise
