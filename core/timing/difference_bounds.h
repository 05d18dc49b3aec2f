// Systems of differences o_a − o_b >= weight in whole nanoseconds: which offsets of clocks fit, and
// by how much they must be violated where none do (Bellman–Ford: Cormen et al., "Difference
// constraints and shortest paths"). Pure functions. Only core/timing/clock_fit sees this.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace reprise {

// Differences of any two int64 times, and sums of as many as there are clocks: 64 bits are too few.
__extension__ using WideNs = __int128;

// Beyond every sum that can occur (2^31 clocks × 2^65 ns), and far from the type's own limits.
inline constexpr WideNs kWideUnbounded = WideNs{1} << 120;

struct ClockDifference {
  std::int32_t a, b;  // clocks
  WideNs weight_ns;
};

struct OffsetInterval {
  WideNs low_ns = -kWideUnbounded;
  WideNs high_ns = kWideUnbounded;
  [[nodiscard]] bool Bounded() const {
    return low_ns > -kWideUnbounded && high_ns < kWideUnbounded;
  }
};

// The least worst violation that any offsets reach: the largest mean weight of a cycle, rounded up.
// Halves an integer interval at most 66 times.
[[nodiscard]] WideNs LeastViolation(std::int32_t clocks,
                                    const std::vector<ClockDifference>& differences);

// Per clock, the offsets relative to clock 0 that violate nothing by more than `violation_ns`. With
// less than LeastViolation() every clock but 0 is unbounded.
[[nodiscard]] std::vector<OffsetInterval> Intervals(std::int32_t clocks,
                                                    const std::vector<ClockDifference>& differences,
                                                    WideNs violation_ns);

}  // namespace reprise
