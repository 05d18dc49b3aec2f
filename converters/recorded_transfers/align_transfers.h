// Which recorded transfers of several ranks are one, and when each member arrived.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "converters/recorded_transfers/recorded_transfers.h"
#include "core/diagnostics.h"
#include "core/result.h"
#include "core/timing/clock_fit.h"
#include "et_schema/node.h"

namespace reprise::recorded_transfers {

struct AlignOptions {
  // All ranks of the set are there: what a member lacks is unmatched. Else nothing is said of it.
  bool all_ranks = true;
};

// CommSpec::group of every transfer is an id of `groups`, or empty.
//
// Collectives of a group are one by lane and sequence number (of several of one number: by order);
// those without a number, and transfers between two ranks, by their position: counted from the
// start where both recordings have it, or have equally many, else from the end.
//
// Sets index, largest_bytes, unmatched, the root of gather and scatter, start_ns and
// transfer_ns; returns the ranks' clocks. A recorder has when a call issued a transfer and how long
// it ran, not when it started. What is taken: members of a collective, and a send and its receive,
// end at one time, the earliest at which each one's length fits behind its issue and behind its
// sequence's previous transfer. A transfer of unknown length starts when it may. One that was
// issued at an unknown time is placed by the time at which its end was noticed.
//
// Counts `transfer_mismatch`, `transfer_without_counterpart`, `transfer_parts_unequal`. Bad input:
// members of one transfer were recorded more than ten minutes apart, so that the files are of two
// jobs.
[[nodiscard]] Result<ClockFit> AlignTransfers(std::span<RecordedRank> ranks,
                                              const std::map<std::string, ProcessGroup>& groups,
                                              const AlignOptions& options,
                                              Diagnostics& diagnostics);

}  // namespace reprise::recorded_transfers
