// Which nodes ran when, for comparison with samples. Only report/ sees this.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "report/nodes/intervals.h"
#include "report/nodes/measured.h"
#include "report/nodes/transfers.h"

namespace reprise {

// One execution of a node.
struct Execution {
  std::uint32_t rank = 0;  // position in the span of ranks
  std::uint32_t node = 0;  // of its RankData::nodes
  std::int32_t iteration = 0;
};

// Parallel arrays, in no order.
struct Load {
  std::vector<Interval> times;  // of the host's clock
  std::vector<Execution> executions;
};

struct LoadOptions {
  bool compute = true;  // work and device nodes
  // Transfers, from the last arrival to their end (TransferSummary::OwnNs); from issue
  // where that is not known. Null: no transfers.
  const TransferSummary* transfers = nullptr;
};

// Adds what the rank at position `r` really ran, warm-up included: records of mode real or
// surrogate of nodes that count. Waits, host nodes and what was only waited for are no operations;
// of a modelled rank nothing was waited for.
void AddOperations(std::span<const MeasuredRank> ranks, std::size_t r, const LoadOptions& options,
                   Load& load);

}  // namespace reprise
