// Times for the HTML report that the console has no room for: of each rank, step, iteration and
// class, and who kept whom waiting. Only report/ sees this.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "report/measured.h"
#include "report/transfers.h"

namespace reprise {

// One step of one rank: as recorded, or one iteration of it as replayed.
struct StepClassRow {
  std::int32_t rank = 0, step = 0;
  std::int32_t iteration = -1;  // -1: recorded
  std::int64_t step_ns = 0;     // 0: unknown
  std::vector<std::int64_t>
      class_ns;  // by StepClasses::classes; transfers from the last arrival on
};

struct StepClasses {
  std::vector<std::string> classes;  // by recorded time, longest first
  std::vector<StepClassRow> recorded, replayed;
  std::int64_t iterations_left_out = 0;
};

// At most `most_cells` class times as replayed: whole iterations, the first ones, at least one.
[[nodiscard]] StepClasses SumStepClasses(std::span<const MeasuredRank> ranks,
                                         const TransferSummary& transfers, std::size_t most_cells);

// A rank in its collectives with others. Times are per pass over the trace: the mean of iterations.
struct StragglerRow {
  std::int32_t rank = 0;
  std::int64_t transfers = 0;                                   // measured, all iterations
  std::int64_t last = 0;                                        // of these, where it arrived last
  std::int64_t recorded_waited_ns = 0, replayed_waited_ns = 0;  // from its arrival to the last one
  std::int64_t caused_ns = 0;  // while it was last: how long the other members waited, their mean
};

[[nodiscard]] std::vector<StragglerRow> FindStragglers(std::span<const MeasuredRank> ranks,
                                                       const TransferSummary& transfers);

}  // namespace reprise
