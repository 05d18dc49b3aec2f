// Names ranks that are stopped where the replay has no watchdog: before MPI starts, until the
// iterations begin, and after them (docs/faults.md); and processes that share another command.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cli/program/launched_rank.h"

namespace reprise {

// A process of this host that a launcher started as a rank.
struct RankProcess {
  std::int32_t rank = 0;
  pid_t pid = 0;
  bool stopped = false;  // by a signal: it runs again after SIGCONT
};

// Whether a signal has stopped it.
[[nodiscard]] bool IsStopped(pid_t pid);
// By rank, those that `chosen` takes, by their parent and their environment ("A=1\0B=2\0"). Linux
// (/proc); without processes of other users and containers.
[[nodiscard]] std::vector<RankProcess> FindRankProcesses(
    const std::function<bool(pid_t parent, std::string_view environment)>& chosen);

// For how long processes are stopped without a break.
class StoppedTimes {
 public:
  // `passed_ns`: since the last call, without what this process itself could not run.
  void Add(const std::vector<RankProcess>& processes, std::int64_t passed_ns);
  void Clear() { stopped_ns_.clear(); }
  // The first of them that is stopped for so long.
  [[nodiscard]] std::optional<RankProcess> StoppedFor(const std::vector<RankProcess>& processes,
                                                      std::int64_t limit_ns) const;

 private:
  std::map<pid_t, std::int64_t> stopped_ns_;
};

// Ends this process, and with it the job, with exit code 4 and a message if for `limit_ns` another
// rank of this host is stopped, or ranks do not come to the start of MPI. Constructed before MPI is
// used and destroyed after it. Does nothing in a job of one process.
class RankWatch {
 public:
  // So many times the limit ranks wait for one that is not known to be stopped, as in the stages of
  // a replay.
  static constexpr std::int64_t kPatienceOverLimit = 10;

  // `option`: that sets the limit, for messages; empty: none does.
  RankWatch(LaunchedRank own, std::int64_t limit_ns, std::string_view option = "--watchdog");
  ~RankWatch();
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;

  // All ranks have come to the start of MPI.
  void MpiStarted() { mpi_started_ = true; }
  // The replay's own watchdog is at work: this one rests until a second has passed without a call.
  void LeaveToWatchdog();

 private:
  void Loop(const std::stop_token& stop);
  void Look(std::int64_t passed_ns);

  const LaunchedRank own_;
  const std::int64_t limit_ns_;
  const std::string_view option_;
  const std::vector<std::string> job_;  // variables that all processes of the job have, "A=1"
  std::atomic<bool> mpi_started_{false};
  std::atomic<std::int64_t> left_ns_{0};
  std::int64_t starting_ns_ = 0;
  std::set<std::int32_t> seen_;  // ranks of this host
  StoppedTimes stopped_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace reprise
