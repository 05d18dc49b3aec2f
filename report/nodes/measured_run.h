// What all of a run's reports start from, computed once.
#pragma once

#include <cstddef>
#include <vector>

#include "report/nodes/measured.h"
#include "report/nodes/transfers.h"
#include "report/run/run.h"

namespace reprise {

// Views into a RunData, which must outlive it.
struct MeasuredRun {
  explicit MeasuredRun(const RunData& run);
  // Of an outline (RankContent::kOutline). Its transfers.times wait for the transfers of all ranks
  // (RankContent::kTransfers).
  [[nodiscard]] static MeasuredRun OfOutline(const RunData& outline);
  // Of `part`, some ranks of a run with this outline, whose transfers.times are closed: what they
  // need of the other ranks is from there. The outline need not outlive it.
  MeasuredRun(const RunData& part, const MeasuredRun& outline);

  const RunData* data;
  std::vector<MeasuredRank> ranks;     // parallel to RunData::ranks
  std::vector<std::size_t> positions;  // of the ranks in the whole run
  TransferSummary transfers;

 private:
  MeasuredRun(const RunData* run, std::vector<MeasuredRank> of_run);
};

}  // namespace reprise
