// Coverage and what lies beside it: how much of the recorded steps ran as what.
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
// That of `described`, in a row of the same rank.
void TakeNodes(const RankRow& described, RankRow& row);

// Weighted by each rank's amount.
[[nodiscard]] Coverage SumCoverage(std::span<const RankRow> ranks, CoverageBasis basis);
// The report's and its ranks' coverage: of the recorded steps where operations have times, else of
// FLOPs, of bytes, or of nodes, whichever is first to have any.
void FillCoverage(Report& report);

}  // namespace reprise
