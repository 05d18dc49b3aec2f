#include "core/clock.h"

#include <ctime>

namespace reprise {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

std::int64_t Read(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

}  // namespace

std::int64_t MonotonicNs() { return Read(CLOCK_MONOTONIC); }
std::int64_t WallClockNs() { return Read(CLOCK_REALTIME); }

void WaitUntilNs(std::int64_t deadline_ns, std::int64_t spin_ns) {
  const std::int64_t sleep_until_ns = deadline_ns - spin_ns;
  if (sleep_until_ns > MonotonicNs()) {
    const timespec until{.tv_sec = sleep_until_ns / kNsPerSecond,
                         .tv_nsec = sleep_until_ns % kNsPerSecond};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
    }
  }
  while (MonotonicNs() < deadline_ns) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}

}  // namespace reprise
