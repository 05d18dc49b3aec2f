// Coverage and what lies beside it: how much of the recorded time ran as what.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/measured.h"
#include "report/report.h"

namespace reprise {

// All but iterations and step times, which need the other ranks as well.
[[nodiscard]] RankRow DescribeRank(const MeasuredRank& rank, const RunManifest& manifest);

// Weighted by each rank's recorded time.
[[nodiscard]] Coverage SumCoverage(std::span<const RankRow> ranks);

// Share of the recorded steps, over all ranks, in which at least one node ran that is replayed as
// the real operation. 0 if no step time is known.
[[nodiscard]] double CoverageOfStep(std::span<const MeasuredRank> ranks,
                                    std::span<const RankRow> rows);

}  // namespace reprise
