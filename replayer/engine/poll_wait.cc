#include "replayer/engine/poll_wait.h"

#include <sched.h>
#include <sys/prctl.h>

#include "core/clock.h"

namespace reprise {
namespace {

constexpr std::int64_t kSleepNs = 20'000;
// A yield that takes longer gave the core to another thread.
constexpr std::int64_t kYieldedNs = 50'000;
// Sleeps until the next yield tells whether it is still so.
constexpr int kSleeps = 100;

}  // namespace

void PollWait::Prepare() { prctl(PR_SET_TIMERSLACK, 1); }

void PollWait::Once() {
  const std::int64_t start_ns = MonotonicNs();
  if (sleeps_left_ > 0) {
    --sleeps_left_;
    WaitUntilNs(start_ns + kSleepNs, 0);
    return;
  }
  sched_yield();
  if (MonotonicNs() - start_ns > kYieldedNs) {
    sleeps_left_ = kSleeps;
  }
}

}  // namespace reprise
