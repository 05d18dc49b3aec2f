// One device's power over time, from what runs on it and when.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/operators.h"
#include "core/timing/dry_run.h"
#include "predict/simulator/power/power_clock.h"
#include "predict/simulator/power/power_work.h"
#include "predict/simulator/power/thermal.h"

namespace reprise {

// A node that takes energy.
struct PoweredNode {
  std::uint32_t node = 0;  // in the timing graph
  OpClass op_class = OpClass::kOther;
  bool transfer = false;
  NodeEnergy energy;
  // Of an operation. Times at the highest clock; steps below it, for two reasons.
  std::int64_t full_ns = 0;
  std::int32_t power_step = 0, thermal_step = 0;

  [[nodiscard]] std::int32_t step() const { return std::max(power_step, thermal_step); }
  // How many times as long it takes at a clock as at the highest.
  [[nodiscard]] double Stretch(double clock) const {
    return std::max(1.0, energy.core_share / clock);
  }
};

// Why a clock is not the highest; bits, as names of kThrottleReasons.
enum : std::uint8_t { kThrottledByPower = 1, kThrottledByHeat = 2 };
inline constexpr char kThrottleReasons[] = "power_cap,sw_thermal";

// When a node takes its energy: a transfer only once its last member has come.
struct PoweredTime {
  std::int64_t begin_ns = 0, end_ns = 0;
};

// In which the same nodes run.
struct PowerInterval {
  PowerStretch power;
  double watts_above_idle = 0;
  double clock = 1;                    // the lowest of the operations that run
  std::uint8_t reasons = 0;            // of these
  std::uint32_t first = 0, count = 0;  // of PowerTrack::running
};

struct PowerTrack {
  std::vector<PowerInterval> intervals;  // touch, from the window's begin to its end
  std::vector<std::uint32_t> running;    // positions among the nodes, by interval
  // Of an interval.
  [[nodiscard]] std::span<const std::uint32_t> Running(std::size_t interval) const {
    return std::span(running).subspan(intervals[interval].first, intervals[interval].count);
  }
};

// P(t) = idle + sum over running nodes of (core joules x energy at its clock + other joules) / its
// time. The window is that of the whole schedule. `times` are parallel to `nodes`, lie inside the
// window, and last at least 1 ns each. O(n log n).
[[nodiscard]] PowerTrack TrackPower(std::span<const PoweredNode> nodes,
                                    std::span<const PoweredTime> times, const ClockCurve& curve,
                                    double idle_watts, PoweredTime window);

// Watts of one node above idle at `step`, if it takes `ns` at its own; at least 1 ns.
[[nodiscard]] double NodeWatts(const PoweredNode& node, double ns, const ClockCurve& curve,
                               std::int32_t step);

}  // namespace reprise
