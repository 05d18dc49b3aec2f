// The run that `reprise monitor` writes around a program: telemetry and the program's time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/program/launched_rank.h"
#include "core/host_clock.h"
#include "core/result.h"
#include "report/run/run.h"
#include "report/telemetry/sampler.h"

namespace reprise {

struct MonitorTarget {
  std::string directory;
  bool force = false;
  std::string command_line;          // for the manifest
  std::vector<std::string> command;  // what is watched; empty: the host
  LaunchedRank rank;
};

// One rank's part. Ranks know nothing of each other but their numbers: each writes its own file,
// rank 0 the manifest, and merges what is there at the end.
class MonitorRecording {
 public:
  // Usage error where this rank's part exists, unless `force`.
  static Result<std::unique_ptr<MonitorRecording>> Begin(const MonitorTarget& target);
  [[nodiscard]] RankWriter& writer() { return *writer_; }
  void BeginStep();
  // Removes what was written: there was nothing to watch.
  void Discard();
  // The time since BeginStep is one step. `exit_code`: of the command. Waits a moment for the other
  // ranks.
  [[nodiscard]] Status End(const Sampler* sampler, int exit_code);

 private:
  explicit MonitorRecording(const MonitorTarget& target) : target_(target) {}
  void ReadClock();
  Status Merge();

  const MonitorTarget& target_;
  std::unique_ptr<RankWriter> writer_;
  std::vector<ClockReading> wall_readings_;
  std::int64_t begin_ns_ = 0;
};

}  // namespace reprise
