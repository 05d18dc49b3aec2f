// What all of a run's reports start from, computed once.
#pragma once

#include <vector>

#include "report/measured.h"
#include "report/transfers.h"
#include "run/run.h"

namespace reprise {

// Views into a RunData, which must outlive it.
struct MeasuredRun {
  explicit MeasuredRun(const RunData& run);

  const RunData* data;
  std::vector<MeasuredRank> ranks;  // parallel to RunData::ranks
  TransferSummary transfers;
};

}  // namespace reprise
