// Step times of a run's ranks. Only report/ sees this.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "report/nodes/measured.h"

namespace reprise {

// Each iteration's step time: the longest rank's; of several steps the mean, as the recorded one
// is. By iteration; only iterations that every rank finished.
[[nodiscard]] std::vector<std::int64_t> StepTimesNs(std::span<const MeasuredRank> ranks);

// How many recorded steps a rank's nodes are of; 1 if they are of none. Work outside the marked
// steps makes none.
[[nodiscard]] std::int64_t CountRecordedSteps(const RankData& data);

// One rank's, the median over iterations.
[[nodiscard]] std::optional<std::int64_t> MedianStepNs(const MeasuredRank& rank);

}  // namespace reprise
