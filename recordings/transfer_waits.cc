#include "recordings/transfer_waits.h"

#include <algorithm>
#include <string>

#include "core/median.h"
#include "report/nodes/measured.h"
#include "report/nodes/transfers.h"

namespace reprise {

TransferWaits WaitsOf(const RunData& run) {
  std::vector<MeasuredRank> ranks;
  ranks.reserve(run.ranks.size());
  for (const RankData& data : run.ranks) {
    ranks.emplace_back(data);
  }
  const TransferSummary transfers = SummarizeTransfers(ranks);
  TransferWaits waits;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const RankData& data = ranks[r].data();
    for (const CollectiveInfo& info : data.collectives) {
      const auto node = ranks[r].FindNode(info.node_id);
      if (!node) {
        continue;
      }
      std::vector<std::int64_t> waited_ns;
      for (const std::uint32_t record : ranks[r].Records(*node)) {
        if (const auto own_ns = transfers.OwnNs(r, record)) {
          waited_ns.push_back(
              std::max<std::int64_t>(data.records[record].duration_ns - *own_ns, 0));
        }
      }
      waits[{data.rank, info.node_id}] = Median(waited_ns).value_or(0);
    }
  }
  return waits;
}

}  // namespace reprise
