#include "report/load.h"

namespace reprise {

void AddOperations(std::span<const MeasuredRank> ranks, std::size_t r, const LoadOptions& options,
                   Load& load) {
  const RankData& data = ranks[r].data();
  for (const NodeRecord& record : data.records) {
    const bool ran = record.mode == ReplayMode::kReal || record.mode == ReplayMode::kSurrogate;
    const auto node = ran ? ranks[r].FindNode(record.node_id) : std::nullopt;
    if (!node || !data.nodes[*node].counts_for_coverage ||
        !(data.nodes[*node].kind == OpKind::kComm ? options.transfers : options.compute)) {
      continue;
    }
    load.times.emplace_back(record.start_ns, record.start_ns + record.duration_ns);
    load.executions.push_back({.rank = static_cast<std::uint32_t>(r),
                               .node = static_cast<std::uint32_t>(*node),
                               .iteration = record.iteration});
  }
}

}  // namespace reprise
