// The one clock of a host: CLOCK_MONOTONIC in nanoseconds.
#pragma once

#include <cstdint>

namespace reprise {

inline constexpr std::int64_t kNsPerUs = 1000;

// Nanoseconds of CLOCK_MONOTONIC. Comparable between processes of one host, not between hosts.
[[nodiscard]] std::int64_t MonotonicNs();

// Nanoseconds since the Unix epoch, for manifests only; never subtract two of these.
[[nodiscard]] std::int64_t WallClockNs();

// Returns at or after `deadline_ns` (MonotonicNs scale). Sleeps while the deadline is more than
// `spin_ns` away and spins for the rest: a sleeping thread wakes 50-60 us late on Linux.
void WaitUntilNs(std::int64_t deadline_ns, std::int64_t spin_ns = 60'000);

}  // namespace reprise
