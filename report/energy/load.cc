#include "report/energy/load.h"

namespace reprise {

void AddOperations(std::span<const MeasuredRank> ranks, std::size_t r, const LoadOptions& options,
                   Load& load) {
  const RankData& data = ranks[r].data();
  const bool modelled = IsModelled(data);
  // Most records are of operations; vectors that grow would take three times the memory at times.
  load.times.reserve(load.times.size() + data.records.size());
  load.executions.reserve(load.executions.size() + data.records.size());
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
    load.times.emplace_back(begin_ns, end_ns);
    load.executions.push_back(
        {.rank = static_cast<std::uint32_t>(r), .node = node, .iteration = record.iteration});
  }
}

}  // namespace reprise
