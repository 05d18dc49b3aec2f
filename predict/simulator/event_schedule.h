// The schedule of a timing graph in which operations and transfers slow each other: transfers that
// share links, and kernels beside transfers. Where nothing is slowed it is the dry run's
// (core/timing/dry_run.h), to the nanosecond.
#pragma once

#include <cstdint>
#include <span>

#include "core/result.h"
#include "core/timing/dry_run.h"
#include "predict/simulator/shared_links.h"

namespace reprise {

// How the members' transfer of one match loads links. It begins when a member has all arrivals that
// it needs; for `latency_ns` nothing moves. A member ends when the transfer has got as far as its
// own time without sharing (transfer_ns).
struct MatchFlow {
  std::int64_t route = -1;  // −1: shares nothing
  std::int64_t latency_ns = 0;
};

struct Interplay {
  // Null: transfers take their own times. Else `flows` has one entry for each match.
  SharedLinks* links = nullptr;
  std::span<const MatchFlow> flows;
  // By node: on which device it is, and how many times as long it takes while a transfer of that
  // device moves (at least 1). Both empty: nothing is slowed.
  std::span<const std::uint32_t> device;
  std::span<const double> beside;
};

// Event by event: rates change only when something begins or ends. Times are whole nanoseconds, and
// all that happens in one of them happens together, so that the order of nodes has no influence.
//
// A member that needs no other's arrival (a send) and comes before some other takes its own time:
// its data is buffered, and crosses the links when the last one has come. `timing` gets the times
// that were scheduled in place of its own: its dry run is then this schedule. Bad input: a cycle.
[[nodiscard]] Result<Schedule> ScheduleEvents(TimingGraph& timing, const Interplay& interplay);

}  // namespace reprise
