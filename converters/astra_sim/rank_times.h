// When a rank's nodes end by themselves, in whole microseconds.
#pragma once

#include <cstdint>
#include <vector>

#include "core/clock.h"
#include "et_schema/graph.h"

namespace reprise::astra_sim {

// The dry run of one rank (start = latest end of a dependency + delay, end = start + duration),
// from 0, rounded. Simulators read durations in whole microseconds: rounding points in time and not
// durations keeps the error of any path below a microsecond, however many short nodes it has.
struct RankTimes {
  explicit RankTimes(const Graph& graph);

  std::vector<std::int64_t> start_us, end_us;
  // Latest end of a dependency; 0 without dependencies.
  std::vector<std::int64_t> ready_us;

  // Of [from_us, to_us), the part in which no node that computes runs (transfers and waits aside).
  [[nodiscard]] std::int64_t IdleUs(std::int64_t from_us, std::int64_t to_us) const;

 private:
  struct Busy {
    std::int64_t from_us, to_us;
  };
  std::vector<Busy> busy_;  // disjoint, by time
};

}  // namespace reprise::astra_sim
