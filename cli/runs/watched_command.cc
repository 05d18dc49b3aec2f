#include "cli/runs/watched_command.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstring>

extern char** environ;

namespace reprise {

SignalWaiter::SignalWaiter() {
  sigemptyset(&signals_);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) {
    sigaddset(&signals_, number);
  }
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

std::optional<siginfo_t> SignalWaiter::Next(std::chrono::milliseconds timeout) const {
  const timespec limit{.tv_sec = timeout.count() / 1'000,
                       .tv_nsec = timeout.count() % 1'000 * 1'000'000};
  siginfo_t info{};
  return sigtimedwait(&signals_, &info, &limit) > 0 ? std::optional(info) : std::nullopt;
}

Result<WatchedCommand> WatchedCommand::Start(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  const int failed =
      posix_spawnp(&pid, arguments.front(), nullptr, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (failed != 0) {
    return UsageError(fmt::format("cannot start {}: {}", command.front(), std::strerror(failed)));
  }
  return WatchedCommand(pid);
}

std::optional<int> WatchedCommand::Wait(const SignalWaiter& signals,
                                        std::chrono::milliseconds timeout) {
  const auto signal = signals.Next(timeout);
  if (signal && signal->si_signo != SIGCHLD && signal->si_code != SI_KERNEL) {
    kill(pid_, signal->si_signo);  // what a terminal sends (SI_KERNEL) the command gets as well
  }
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) {
    return std::nullopt;
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace reprise
