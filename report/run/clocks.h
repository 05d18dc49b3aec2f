// Brings the times of a run's hosts onto one clock.
#pragma once

#include <map>
#include <string>

#include "core/host_clock.h"
#include "report/run/run.h"

namespace reprise {

// How the clocks of a run's hosts relate to that of rank 0's host. Either all ranks are on one
// host, or each host has readings against rank 0's (clock_readings of RankFacts), or else against
// Unix time (wall_readings). If a host has none, the clocks are unrelated.
class ClockRelation {
 public:
  // From facts that have not been moved yet.
  explicit ClockRelation(const RunData& run);

  // Moves records, steps, samples and the idle window of a rank onto the clock of rank 0's host and
  // sets RankData::clock_uncertainty_ns; where the clocks are not related, all stays as it is. Once
  // on what was read of a rank.
  void Move(RankData& rank) const;
  [[nodiscard]] bool by_wall_clock() const { return by_wall_clock_; }

 private:
  std::map<std::string, HostClock> clocks_;  // by host; against Unix time if by_wall_clock_
  HostClock back_{{}};                       // from what they are against to rank 0's host
  std::string wall_reference_;               // by_wall_clock_: the host that stays as it is
  bool one_host_ = false, by_wall_clock_ = false;
};

// Moves every rank; adds a note where only wall clocks are known.
void RelateClocks(RunData& run, const ClockRelation& relation);
inline void RelateClocks(RunData& run) { RelateClocks(run, ClockRelation(run)); }

}  // namespace reprise
