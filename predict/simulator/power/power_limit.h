// What a power limit does to a device: lower clocks for what runs where a mean is above it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "predict/simulator/power/power_track.h"
#include "predict/simulator/power/power_window.h"

namespace reprise {

// What is above a limit, of watts or degrees, is so by more than rounding.
inline constexpr double kAboveLimit = 1 + 1e-9;

// Whether the core's clock changes what the node takes.
[[nodiscard]] bool FollowsClock(const PoweredNode& node);

class PowerLimiter {
 public:
  // Of means over `window_ns`; 0: of every moment. `curve` must outlive it.
  PowerLimiter(const ClockCurve& curve, double idle_watts, double limit_watts,
               std::int64_t window_ns);

  struct Outcome {
    bool changed = false;  // some node has a lower clock
    bool unmet = false;    // a mean is above the limit, and all clocks are the lowest
  };
  // All operations in a window whose mean is above the limit get the highest clock with which it
  // is not, or keep a lower one. `times` (by node) and `track` are of the clocks before. Asked
  // again with the times that follow, it comes to an end: clocks only fall.
  Outcome Meet(std::vector<PoweredNode>& nodes, std::span<const PoweredTime> times,
               const PowerTrack& track) const;

  // Of times that were measured under the limit: what the track has above it is the model's error.
  void Cut(PowerTrack& track) const;

 private:
  struct Running {
    std::span<const PoweredNode> nodes;
    std::span<const PoweredTime> times;
    const PowerTrack& track;
  };
  [[nodiscard]] std::int32_t StepWithin(const Running& running, const PowerWindow& window) const;
  [[nodiscard]] double MeanAt(const Running& running, const PowerWindow& window,
                              std::int32_t step) const;

  const ClockCurve& curve_;
  double idle_watts_, limit_watts_;
  std::int64_t window_ns_;
};

}  // namespace reprise
