// The numbers of a comparison of recordings by name, as a comparison of runs has them
// (report/compare/), so that conditions, figures and tables are the same. docs/comparisons.md lists
// the names. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "report/compare/compare_runs.h"
#include "report/recordings/ranks.h"
#include "report/recordings/recording.h"
#include "report/recordings/recording_difference.h"

namespace reprise {

// One number of a recording: `like` has its name and unit, and no cells.
struct RecordedQuantity {
  ComparedRow like;
  double value = 0;
};

// What a recording has, of the ranks and steps that `difference` compares. `first`: it is the first
// side of the difference.
[[nodiscard]] std::vector<RecordedQuantity> QuantitiesOf(const RecordedJob& job,
                                                         const RecordingDifference& difference,
                                                         bool first);

// A side's repeats, and those of the first side over what is compared with this one.
struct SideQuantities {
  std::vector<std::vector<RecordedQuantity>> repeats, base;
};

// Rows of all sides. `sides` holds, parallel to `quantities`, labels, and the reports of runs: of
// these energy, power, temperature and the like are added. `verdicts` and `notes`: see Comparison.
[[nodiscard]] Comparison CompareRecordedSides(const std::vector<ComparedSide>& sides,
                                              const std::vector<SideQuantities>& quantities);

[[nodiscard]] ComparedCapture DescribeCapture(const RecordedJob& job);

// Of a recording's report, its own; empty where it is not known. Largest first.
[[nodiscard]] std::vector<PathPart> CriticalPathOf(const Report& report);

// Ranks' times, with what `reported` has besides: a run's telemetry; empty for captures.
[[nodiscard]] HeatMap HeatOf(const RecordedJob& job, const RankComparison& ranks,
                             const HeatMap& reported);

}  // namespace reprise
