#include "predict/simulator/power/power_track.h"

#include <algorithm>
#include <tuple>

namespace reprise {
namespace {

constexpr double kSecondsPerNs = 1e-9;

struct PowerEvent {
  std::int64_t time_ns = 0;
  bool begins = false;
  std::uint32_t at = 0;
};

std::vector<PowerEvent> EventsOf(std::span<const PoweredTime> times) {
  std::vector<PowerEvent> events;
  events.reserve(2 * times.size());
  for (std::uint32_t i = 0; i < times.size(); ++i) {
    events.push_back({times[i].begin_ns, true, i});
    events.push_back({times[i].end_ns, false, i});
  }
  std::ranges::sort(events, [](const PowerEvent& a, const PowerEvent& b) {
    return std::tie(a.time_ns, a.begins, a.at) < std::tie(b.time_ns, b.begins, b.at);
  });
  return events;
}

}  // namespace

double NodeWatts(const PoweredNode& node, double ns, const ClockCurve& curve, std::int32_t step) {
  const double stretch =
      node.transfer ? 1 : node.Stretch(curve.Clock(step)) / node.Stretch(curve.Clock(node.step()));
  const double joules = node.energy.core_joules * curve.Energy(step) + node.energy.other_joules;
  return joules / (std::max(ns, 1.0) * stretch * kSecondsPerNs);
}

PowerTrack TrackPower(std::span<const PoweredNode> nodes, std::span<const PoweredTime> times,
                      const ClockCurve& curve, double idle_watts, PoweredTime window) {
  PowerTrack track;
  std::vector<double> watts(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    watts[i] = NodeWatts(nodes[i], static_cast<double>(times[i].end_ns - times[i].begin_ns), curve,
                         nodes[i].step());
  }
  std::vector<std::uint32_t> running;  // in the order of their begins
  std::int64_t begin_ns = window.begin_ns;
  const auto until = [&](std::int64_t end_ns) {
    if (end_ns <= begin_ns) {
      return;
    }
    PowerInterval interval;
    interval.first = static_cast<std::uint32_t>(track.running.size());
    interval.count = static_cast<std::uint32_t>(running.size());
    for (const std::uint32_t i : running) {
      const PoweredNode& node = nodes[i];
      interval.watts_above_idle += watts[i];
      if (node.step() > 0) {
        interval.clock = std::min(interval.clock, curve.Clock(node.step()));
        interval.reasons |= node.power_step > 0 ? kThrottledByPower : 0;
        interval.reasons |= node.thermal_step > 0 ? kThrottledByHeat : 0;
      }
    }
    interval.power = {begin_ns, end_ns, idle_watts + interval.watts_above_idle};
    track.running.insert(track.running.end(), running.begin(), running.end());
    track.intervals.push_back(interval);
    begin_ns = end_ns;
  };
  for (const PowerEvent& event : EventsOf(times)) {
    until(event.time_ns);
    if (event.begins) {
      running.push_back(event.at);
    } else {
      running.erase(std::ranges::find(running, event.at));
    }
  }
  until(window.end_ns);
  return track;
}

}  // namespace reprise
