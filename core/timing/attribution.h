// Where the difference between two runs of one graph comes from: the recorded values are replaced
// by the replayed ones part by part, and each replacement moves the end (docs/definitions.md,
// "Attribution"). Pure functions over plain arrays.
#pragma once

#include <cstdint>
#include <vector>

#include "core/timing/dry_run.h"

namespace reprise {

// The other run's values, parallel to the graph's, and the part of each: numbers from 0 to
// `parts` − 1. A node's duration and its time as a transfer belong to one part, its delay to
// another or the same. Delays may be negative: a node that started before its dependency ended.
struct Replacement {
  std::size_t parts = 0;
  std::vector<std::int64_t> duration_ns, delay_ns, transfer_ns;
  std::vector<std::uint8_t> duration_part, delay_part;
};

struct Attribution {
  std::int64_t before_ns = 0, after_ns = 0;  // from the earliest start to the latest end
  // By part; the sum is exactly after_ns − before_ns.
  std::vector<std::int64_t> part_ns;
};

// What a part does depends on what was replaced before it: what is off the critical path moves
// nothing until the rest is short enough. So parts are replaced in both directions, and each gets
// the mean of the two: two schedules for each part that changes anything. The directions take a
// thread each.
[[nodiscard]] Attribution Attribute(const EventOrder& order, const Replacement& by);

}  // namespace reprise
