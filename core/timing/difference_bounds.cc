#include "core/timing/difference_bounds.h"

#include <algorithm>

namespace reprise {
namespace {

// Longest distances from clock 0, every weight loosened by `slack_ns`; forward gives the lowest
// offset of each clock, backward minus the highest. Nothing if a cycle still gains: no offsets fit.
std::optional<std::vector<WideNs>> LongestPaths(std::int32_t clocks,
                                                const std::vector<ClockDifference>& differences,
                                                WideNs slack_ns, bool backward, bool from_all) {
  std::vector<WideNs> distance(clocks, from_all ? 0 : -kWideUnbounded);
  distance[0] = 0;
  for (std::int32_t round = 0; round <= clocks; ++round) {
    bool changed = false;
    for (const ClockDifference& difference : differences) {
      const std::int32_t from = backward ? difference.a : difference.b;
      const std::int32_t to = backward ? difference.b : difference.a;
      if (distance[from] == -kWideUnbounded) {
        continue;
      }
      const WideNs through = distance[from] + difference.weight_ns - slack_ns;
      if (through > distance[to]) {
        distance[to] = through;
        changed = true;
      }
    }
    if (!changed) {
      return distance;
    }
  }
  return std::nullopt;
}

}  // namespace

WideNs LeastViolation(std::int32_t clocks, const std::vector<ClockDifference>& differences) {
  if (LongestPaths(clocks, differences, 0, false, true)) {
    return 0;
  }
  WideNs low = 0;
  WideNs high = 1;
  for (const ClockDifference& difference : differences) {
    high = std::max(high, difference.weight_ns);
  }
  // Integers: the interval shrinks in every round, whatever the magnitude.
  while (high - low > 1) {
    const WideNs middle = low + (high - low) / 2;
    (LongestPaths(clocks, differences, middle, false, true) ? high : low) = middle;
  }
  return high;
}

std::vector<OffsetInterval> Intervals(std::int32_t clocks,
                                      const std::vector<ClockDifference>& differences,
                                      WideNs violation_ns) {
  std::vector<OffsetInterval> intervals(clocks);
  const auto low = LongestPaths(clocks, differences, violation_ns, false, false);
  const auto high = LongestPaths(clocks, differences, violation_ns, true, false);
  for (std::int32_t c = 0; c < clocks; ++c) {
    intervals[c].low_ns = low ? (*low)[c] : -kWideUnbounded;
    intervals[c].high_ns = high ? -(*high)[c] : kWideUnbounded;
  }
  intervals[0] = {0, 0};
  return intervals;
}

}  // namespace reprise
