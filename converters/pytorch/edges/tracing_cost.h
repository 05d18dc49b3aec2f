// What the tracing itself took of the time that it recorded. Tracing makes a step of many small
// calls two to nine times as long, inside of the recorded calls as much as between them.
#pragma once

#include <cstdint>

#include "converters/pytorch/edges/rank_timeline.h"
#include "converters/pytorch/rank/rank_capture.h"

namespace reprise::pytorch {

// Of one recorded call: within its own times, and outside of them (docs/definitions.md).
struct TracingCost {
  double within_ns = 0, outside_ns = 0;
  [[nodiscard]] double PerCall() const { return within_ns + outside_ns; }
};

// Estimated from calls that compute nothing: what they took beside their own calls, and what lies
// between two calls of one caller. Where the capture says what a step takes untraced, and the
// estimate is right but for a factor of two, it is scaled so that both add up. Zero where the
// capture has no times or too few such calls.
[[nodiscard]] TracingCost EstimateTracingCost(const RankCapture& rank);

// Sets tracing_ns and tracing_before_ns of the threads' items. What an item or gap is too short
// for is taken from the next gaps of its thread, and what no gap can give from all of its items.
void SpreadTracingCost(const RankCapture& rank, const TracingCost& cost, Timeline& timeline);

}  // namespace reprise::pytorch
