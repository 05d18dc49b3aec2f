// How the times of a run's ranks, recorded and replayed, come onto one axis. Only
// report/run_timeline sees this.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/timeline/run_choice.h"
#include "run/run.h"

namespace reprise {

// What to subtract from a rank's times so that 0 is the beginning of what is shown.
struct RankOrigins {
  std::int64_t replayed_ns = 0;
  std::int64_t recorded_ns = 0;
};

// By rank. Ranks whose clocks the run relates keep their distances, others all begin at 0; `notes`
// says which.
[[nodiscard]] std::vector<RankOrigins> ChooseOrigins(const std::vector<const RankData*>& ranks,
                                                     const RunTimelineOptions& options,
                                                     std::vector<std::string>& notes);

}  // namespace reprise
