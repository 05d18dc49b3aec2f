#include "cli/interrupts.h"

#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <cstdint>

#include "core/clock.h"

namespace reprise {
namespace {

std::atomic<int> caught{0};
std::atomic<std::int64_t> asked_ns{0};
static_assert(std::atomic<std::int64_t>::is_always_lock_free, "used in a signal handler");

// Nobody has asked for this long: nobody would act.
constexpr std::int64_t kUnheededNs = 1'000'000'000;

void OnSignal(int number) {
  if (caught.exchange(number) != 0 || MonotonicNs() - asked_ns.load() > kUnheededNs) {
    (void)std::signal(number, SIG_DFL);
    (void)std::raise(number);
  }
}

}  // namespace

void CatchInterrupts() {
  (void)std::signal(SIGINT, OnSignal);
  (void)std::signal(SIGTERM, OnSignal);
  (void)std::signal(SIGXFSZ, SIG_IGN);
}

std::optional<Error> PendingInterrupt() {
  asked_ns.store(MonotonicNs());
  const int number = caught.load();
  if (number == 0) {
    return std::nullopt;
  }
  return Error{ErrorKind::kCheckFailed,
               fmt::format("ended by {}; what was recorded until then is kept",
                           number == SIGINT ? "SIGINT" : "SIGTERM")};
}

int InterruptExitCode() {
  const int number = caught.load();
  return number == 0 ? 0 : 128 + number;
}

}  // namespace reprise
