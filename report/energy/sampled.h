// Energy with its source, and the range of every other metric, from the samples of a run.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/nodes/measured.h"
#include "report/values/energy_values.h"
#include "report/values/rank_values.h"

namespace reprise {

struct SampledSummary {
  std::vector<EnergyRow> energy;
  std::vector<MetricRow> metrics;
  std::int64_t measured_ns = 0;  // the longest of the ranks that sampled
};

// Over each rank's measured time; only ranks that sampled (one a host) have anything. Takes no
// nodes: an outline will do.
[[nodiscard]] SampledSummary SummarizeSamples(std::span<const MeasuredRank> ranks,
                                              std::span<const RankRow> rows);

// What the rows in the total add up to.
struct EnergyTotal {
  std::optional<double> joules;
  std::string source;
  double watts = 0;  // mean
};
[[nodiscard]] EnergyTotal TotalOf(std::span<const EnergyRow> rows);

}  // namespace reprise
