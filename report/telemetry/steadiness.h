// Whether temperatures have settled: what a warm-up waits for.
#pragma once

#include <cstdint>
#include <span>

#include "core/metrics.h"
#include "report/telemetry/recent.h"

namespace reprise {

// A temperature has settled when its mean over the last window differs by less than the tolerance
// from the mean over the window before: less than 2 degrees a minute.
inline constexpr std::int64_t kSteadyWindowNs = 15'000'000'000;
inline constexpr double kSteadyToleranceCelsius = 0.5;

[[nodiscard]] bool HasTemperatures(std::span<const Metric> metrics);
// All metrics in celsius have settled. False until two windows are full, which `recent` must keep;
// a sensor that has fallen silent does not hold up the others.
[[nodiscard]] bool HasSettled(std::span<const Metric> metrics, const RecentSamples& recent,
                              std::int64_t now_ns, std::int64_t window_ns = kSteadyWindowNs);

}  // namespace reprise
