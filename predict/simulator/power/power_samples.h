// What is kept of a device's power: sums, its peak, and samples as a meter would have them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/metrics.h"
#include "core/records.h"
#include "predict/simulator/power/power.h"

namespace reprise {

// Sums over the track; `temperatures` (of its intervals) may be null. The peak is the highest mean
// over `window_ns`; 0: the highest moment.
[[nodiscard]] DevicePower DescribeDevice(std::span<const PoweredNode> nodes,
                                         const PowerTrack& track, const ClockCurve& curve,
                                         double idle_watts, std::int64_t window_ns,
                                         const Temperatures* temperatures);

// One sample for each interval, or kMaxPowerSamples of equal length; and one at the end. The sum
// of watts x time is the last sample's joules.
[[nodiscard]] std::vector<PowerSample> CondenseTrack(const PowerTrack& track,
                                                     const ClockCurve& curve,
                                                     const Temperatures* temperatures);

// As a source `model` would have read them, with the names of measured metrics
// (docs/telemetry.md). Idle power shows in a millisecond before the window.
struct ModelledTelemetry {
  std::vector<Metric> metrics;
  std::vector<Sample> samples;
  std::int64_t idle_begin_ns = 0, idle_end_ns = 0;
};
[[nodiscard]] ModelledTelemetry TelemetryOf(const DevicePower& power, const PowerOutcome& outcome,
                                            const DeviceModel& device, const std::string& name);

}  // namespace reprise
