// Which nodes ran when, for comparison with samples. Only report/ sees this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

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

struct LoadOptions {
  bool compute = true;  // work and device nodes
  // Transfers, from the last arrival to their end (TransferSummary::OwnNs); from issue
  // where that is not known. Null: no transfers.
  const TransferSummary* transfers = nullptr;
};

// take(Interval, of the host's clock, Execution) for what the rank at position `r` really ran,
// warm-up included: records of mode real or surrogate of nodes that count. Waits, host nodes and
// what was only waited for are no operations; of a modelled rank nothing was waited for. In the
// order of its records.
template <typename Take>
void VisitOperations(std::span<const MeasuredRank> ranks, std::size_t r, const LoadOptions& options,
                     const Take& take) {
  const RankData& data = ranks[r].data();
  const bool modelled = IsModelled(data);
  for (std::size_t k = 0; k < data.records.size(); ++k) {
    const NodeRecord& record = data.records[k];
    const bool ran = modelled || Executes(record.mode);
    const std::uint32_t node = ranks[r].NodeOfRecord(k);
    if (!ran || node == MeasuredRank::kNoNode || !data.nodes[node].counts_for_coverage) {
      continue;
    }
    const bool transfer = data.nodes[node].kind == OpKind::kComm;
    if (transfer ? options.transfers == nullptr : !options.compute) {
      continue;
    }
    const std::int64_t end_ns = record.start_ns + record.duration_ns;
    std::int64_t begin_ns = record.start_ns;
    if (transfer) {
      const auto own_ns = options.transfers->OwnNs(r, k);
      begin_ns = own_ns ? end_ns - *own_ns : begin_ns;
    }
    take(Interval{begin_ns, end_ns},
         Execution{
             .rank = static_cast<std::uint32_t>(r), .node = node, .iteration = record.iteration});
  }
}

}  // namespace reprise
