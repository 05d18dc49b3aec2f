#include "report/load.h"

namespace reprise {

void AddOperations(std::span<const MeasuredRank> ranks, std::size_t r, const LoadOptions& options,
                   Load& load) {
  const RankData& data = ranks[r].data();
  for (const NodeRecord& record : data.records) {
    const bool ran = record.mode == ReplayMode::kReal || record.mode == ReplayMode::kSurrogate;
    const auto node = ran ? ranks[r].FindNode(record.node_id) : std::nullopt;
    if (!node || !data.nodes[*node].counts_for_coverage) {
      continue;
    }
    const bool transfer = data.nodes[*node].kind == OpKind::kComm;
    if (transfer ? options.transfers == nullptr : !options.compute) {
      continue;
    }
    const std::int64_t end_ns = record.start_ns + record.duration_ns;
    std::int64_t begin_ns = record.start_ns;
    if (transfer) {
      const auto own = options.transfers->own_ns_of_record.find(&record);
      begin_ns = own == options.transfers->own_ns_of_record.end() ? begin_ns : end_ns - own->second;
    }
    load.times.emplace_back(begin_ns, end_ns);
    load.executions.push_back({.rank = static_cast<std::uint32_t>(r),
                               .node = static_cast<std::uint32_t>(*node),
                               .iteration = record.iteration});
  }
}

}  // namespace reprise
