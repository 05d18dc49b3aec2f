#include "cli/program/interrupts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>
#include <thread>

#include "core/clock.h"
#include "core/temporary_output.h"

namespace reprise {
namespace {

std::atomic<int> caught{0};
std::atomic<std::int64_t> asked_ns{0};
static_assert(std::atomic<std::int64_t>::is_always_lock_free, "used in a signal handler");

// No caller has polled for this long, so none would act.
constexpr std::int64_t kUnheededNs = 1'000'000'000;

void OnSignal(int number) {
  if (caught.exchange(number) != 0 || MonotonicNs() - asked_ns.load() > kUnheededNs) {
    (void)std::signal(number, SIG_DFL);
    (void)std::raise(number);
  }
}

int interrupt_pipe = -1;

// Removing directories is nothing for a signal handler: a thread of its own waits for this byte.
void OnInterrupt(int number) {
  const int saved = errno;
  const auto byte = static_cast<char>(number);
  if (::write(interrupt_pipe, &byte, 1) != 1) {
    (void)std::signal(number, SIG_DFL);
    (void)std::raise(number);
  }
  errno = saved;
}

void AwaitInterrupt(int descriptor) {
  char number = 0;
  ssize_t got = 0;
  while ((got = ::read(descriptor, &number, 1)) < 0 && errno == EINTR) {
  }
  if (got == 1) {
    RemoveTemporaryOutputs();
    (void)std::signal(number, SIG_DFL);
    (void)::kill(::getpid(), number);
  }
}

}  // namespace

void RemoveOutputsOnInterrupt() {
  (void)std::signal(SIGXFSZ, SIG_IGN);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return;  // no descriptors left: signals end the process at once, as without this
  }
  interrupt_pipe = ends[1];
  try {
    std::thread(AwaitInterrupt, ends[0]).detach();
  } catch (const std::system_error&) {
    return;
  }
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    if (::sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) {
      struct sigaction action {};
      action.sa_handler = OnInterrupt;
      action.sa_flags = SA_RESTART;
      (void)::sigaction(number, &action, nullptr);
    }
  }
}

void CatchInterrupts() {
  (void)std::signal(SIGINT, OnSignal);
  (void)std::signal(SIGTERM, OnSignal);
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
