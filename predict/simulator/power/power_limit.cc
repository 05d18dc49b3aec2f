#include "predict/simulator/power/power_limit.h"

#include <algorithm>

namespace reprise {
namespace {

// What meets a limit does so by less than kAboveLimit.
constexpr double kWithin = 1 + 5e-10;
// Each round of cuts leaves less above the limit.
constexpr int kMaxCuts = 100;

}  // namespace

bool FollowsClock(const PoweredNode& node) { return !node.transfer && node.energy.core_joules > 0; }

PowerLimiter::PowerLimiter(const ClockCurve& curve, double idle_watts, double limit_watts,
                           std::int64_t window_ns)
    : curve_(curve), idle_watts_(idle_watts), limit_watts_(limit_watts), window_ns_(window_ns) {}

PowerLimiter::Outcome PowerLimiter::Meet(std::vector<PoweredNode>& nodes,
                                         std::span<const PoweredTime> times,
                                         const PowerTrack& track) const {
  Outcome outcome;
  std::vector<std::int32_t> steps(nodes.size());  // of nodes that get a lower clock
  for (const PowerWindow& window : WindowsAbove(track, window_ns_, limit_watts_ * kAboveLimit)) {
    const std::int32_t step = StepWithin({nodes, times, track}, window);
    bool lower = false;
    for (std::size_t at = window.first; at <= window.last; ++at) {
      for (const std::uint32_t i : track.Running(at)) {
        if (FollowsClock(nodes[i]) && nodes[i].step() < step) {
          steps[i] = std::max(steps[i], step);
          lower = true;
        }
      }
    }
    outcome.unmet = outcome.unmet || !lower;
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    outcome.changed = outcome.changed || steps[i] > 0;
    nodes[i].power_step = std::max(nodes[i].power_step, steps[i]);
  }
  return outcome;
}

void PowerLimiter::Cut(PowerTrack& track) const {
  for (int cuts = 0; cuts < kMaxCuts; ++cuts) {
    const auto windows = WindowsAbove(track, window_ns_, limit_watts_ * kAboveLimit);
    if (windows.empty()) {
      return;
    }
    for (const PowerWindow& window : windows) {
      const double part = (limit_watts_ - idle_watts_) / (window.watts - idle_watts_);
      for (std::size_t i = window.first; i <= window.last; ++i) {
        PowerInterval& interval = track.intervals[i];
        interval.watts_above_idle *= part;
        interval.power.watts = idle_watts_ + interval.watts_above_idle;
      }
    }
  }
}

// The highest clock with which the mean of the window is within the limit; else the lowest.
std::int32_t PowerLimiter::StepWithin(const Running& running, const PowerWindow& window) const {
  std::int32_t low = 0;
  std::int32_t high = curve_.lowest();
  while (low < high) {
    const std::int32_t middle = (low + high) / 2;
    if (MeanAt(running, window, middle) <= limit_watts_ * kWithin) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// Watts of a window if all that runs in it had `step`, or its own where that is lower. What is
// lowered takes longer, and counts for more.
double PowerLimiter::MeanAt(const Running& running, const PowerWindow& window,
                            std::int32_t step) const {
  double joules = 0;
  double length = 0;
  for (std::size_t at = window.first; at <= window.last; ++at) {
    double watts = idle_watts_;
    double stretch = 1;
    for (const std::uint32_t i : running.track.Running(at)) {
      const PoweredNode& node = running.nodes[i];
      const PoweredTime& time = running.times[i];
      const std::int32_t to = std::max(step, node.step());
      watts += NodeWatts(node, static_cast<double>(time.end_ns - time.begin_ns), curve_, to);
      if (!node.transfer) {
        stretch = std::max(
            stretch, node.Stretch(curve_.Clock(to)) / node.Stretch(curve_.Clock(node.step())));
      }
    }
    const PowerStretch& power = running.track.intervals[at].power;
    const auto inside = static_cast<double>(std::min(power.end_ns, window.end_ns) -
                                            std::max(power.begin_ns, window.begin_ns));
    joules += watts * inside * stretch;
    length += inside * stretch;
  }
  return joules / length;
}

}  // namespace reprise
