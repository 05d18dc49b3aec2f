// One transfer, all its members: clocks, ends, and what each member's transfer took.
#pragma once

#include <map>
#include <span>
#include <string>

#include "converters/pytorch/rank/rank_capture.h"
#include "core/diagnostics.h"
#include "core/result.h"
#include "core/timing/clock_fit.h"
#include "et_schema/trace_set.h"

namespace reprise::pytorch {

// The host is taken to wait where it is quiet for at least this long.
inline constexpr std::int64_t kQuietNs = 50'000;

// Marks the waits before which the host did nothing for kQuietNs: those really waited. Before
// MatchTransfers, of ranks that this process has read.
void FindBlockedWaits(RankCapture& rank);

// Needs groups and indices (AssignGroups). Fits the clocks to what causality says, moves the end of
// point-to-point transfers from their wait (all that gloo records) to where the transfer can have
// ended, and sets transfer_ns of every transfer whose members were all captured. A member that
// lacks kind or size gets those that follow from another member (`transfer_facts_from_members`).
// Counts `transfer_mismatch` (members disagree in kind, type or size, or in how many there are),
// `clock_error` (a member ended before what it needed arrived, on the fitted clocks), and what a
// transfer still lacks (`transfer_kind_unknown`, `transfer_size_unknown`, `transfer_root_unknown`,
// `transfer_peer_unknown`).
[[nodiscard]] Result<ClockFit> MatchTransfers(std::span<RankCapture> ranks,
                                              const std::map<std::string, ProcessGroup>& groups,
                                              Diagnostics& diagnostics);

}  // namespace reprise::pytorch
