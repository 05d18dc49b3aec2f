// A program that runs under `reprise monitor`.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace reprise {

// Takes over SIGINT, SIGTERM, SIGHUP and SIGCHLD of this process, for good: construct one before
// any thread starts, wait with one thread.
class SignalWaiter {
 public:
  SignalWaiter();
  // The next of them, if one comes in time.
  [[nodiscard]] std::optional<siginfo_t> Next(std::chrono::milliseconds timeout) const;

 private:
  sigset_t signals_;
};

class WatchedCommand {
 public:
  // Found along PATH; environment, standard streams and process group are this process's. Usage
  // error if it cannot be started.
  static Result<WatchedCommand> Start(const std::vector<std::string>& command);
  // Hands signals on to the command, for at most `timeout`. Its exit code once it has ended, 128 +
  // the signal's number where a signal has ended it.
  [[nodiscard]] std::optional<int> Wait(const SignalWaiter& signals,
                                        std::chrono::milliseconds timeout);
  // Until Wait has returned its exit code.
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  explicit WatchedCommand(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

}  // namespace reprise
