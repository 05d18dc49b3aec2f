// Maps every rank's clock to rank 0's, from the causality of matched transfers
// (docs/clocks.md). Pure functions over plain arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/result.h"

namespace reprise {

// "What ended at end_ns_a on rank a's clock can't have ended before what started at start_ns_b on
// rank b's clock": a receive and the issue of its send; a member's end and another member's
// arrival. Give only what must hold: a send is issued when its c10d call starts (the leaf opens
// milliseconds later on a busy machine), and a buffered send, or the root of a broadcast, may end
// before its peer arrives. Times are absolute (base + start), so that ranks are comparable.
struct ClockConstraint {
  std::int32_t rank_a = 0;
  std::int64_t end_ns_a = 0;
  std::int32_t rank_b = 0;
  std::int64_t start_ns_b = 0;
};

struct ClockFitOptions {
  // Ranks with the same number read one clock (processes of one host) and get one offset and
  // drift; what then contradicts causality is a violation, i.e. uncertainty. Empty: every rank may
  // have a clock of its own.
  std::vector<std::int32_t> host_of_rank;
  // Violations up to this are recording noise (ends are stamped after the fact), not a clock.
  std::int64_t noise_ns = 50'000;
  // |drift| beyond this is no clock (200 ppm: four times a bad crystal).
  double max_drift = 200e-6;
};

// Rank 0's clock when this rank's clock reads t:
//   t + offset_ns + drift × (t − ClockFit::reference_ns).
struct ClockModel {
  std::int64_t offset_ns = 0;
  double drift = 0;
  // How wrong the mapping may be. On rank 0's host: the worst violation that touches the rank (0
  // if none), for the clock is the same. Else, from the interval of offsets (at this drift) that
  // violate nothing more than the fit does: the distance to its farther end, which is half its
  // width for a fitted offset, the middle.
  std::int64_t uncertainty_ns = 0;
  // False: no constraint, direct or through other ranks, ties this rank to rank 0 from both sides,
  // and it is not on rank 0's host. Offset 0 and uncertainty 0 then mean "unknown".
  bool known = true;
};

struct ClockFit {
  std::vector<ClockModel> clocks;  // by rank
  std::int64_t reference_ns = 0;   // earliest time of any constraint
  std::int64_t worst_violation_ns = 0;
  std::size_t violated = 0;  // constraints that the fit leaves violated, by any amount
  bool zero_offsets = true;  // every offset and drift is 0

  [[nodiscard]] std::int64_t ToRank0(std::int32_t rank, std::int64_t time_ns) const;
  // The offset at another reference, e.g. at a trace's base: what TraceMetadata::clock_offset_ns
  // holds, so that rank 0's clock = base + t + offset + drift × t.
  [[nodiscard]] std::int64_t OffsetAt(std::int32_t rank, std::int64_t reference_ns) const;
};

// Tries, and takes the first that leaves no violation over noise_ns: all zero; constant offsets;
// offsets and drifts. If none does, the one with the smallest worst violation (ties: the simpler).
// Fails (bad input) on a rank outside [0, ranks) or a host list of another size.
[[nodiscard]] Result<ClockFit> FitClocks(std::int32_t ranks,
                                         std::span<const ClockConstraint> constraints,
                                         const ClockFitOptions& options = {});

}  // namespace reprise
