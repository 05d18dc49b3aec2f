// Which part of a run its timeline shows, and how the times of its ranks, recorded and replayed,
// come onto one axis. Only report/timeline sees this.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/run/run.h"

namespace reprise {

// Which part of a run its timeline shows: all, if not given.
struct RunTimelineOptions {
  std::optional<std::int32_t> rank, step, iteration;
};
[[nodiscard]] inline bool Matches(std::optional<std::int32_t> wanted, std::int32_t value) {
  return !wanted || *wanted == value;
}

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
