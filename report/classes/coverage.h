// Coverage and what lies beside it: how much of the recorded time ran as what.
#pragma once

#include <span>

#include "report/nodes/measured.h"
#include "report/values/report.h"

namespace reprise {

// On a host thread of the recording, neither on a device's stream nor a transfer.
[[nodiscard]] bool IsOfHostThread(const NodeInfo& node);

// Who the rank is, and its step times; nothing that takes its nodes.
[[nodiscard]] RankRow IdentifyRank(const MeasuredRank& rank, const RunManifest& manifest);
// What its nodes say.
void DescribeNodes(const MeasuredRank& rank, RankRow& row);

// Weighted by each rank's amount.
[[nodiscard]] Coverage SumCoverage(std::span<const RankRow> ranks, CoverageBasis basis);
// The report's and its ranks' coverage: of recorded time where any is recorded, else of FLOPs, of
// bytes, or of nodes, whichever is first to have any.
void FillCoverage(Report& report);

// Share of the recorded steps, over all ranks, in which at least one node ran that is replayed as
// the real operation. 0 if no step time is known.
[[nodiscard]] double CoverageOfStep(std::span<const RankRow> ranks);

}  // namespace reprise
