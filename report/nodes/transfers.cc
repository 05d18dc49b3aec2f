#include "report/nodes/transfers.h"

#include <utility>

#include "core/parallel.h"

namespace reprise {

TransferSummary TakeTransfers(std::span<const MeasuredRank> ranks,
                              std::shared_ptr<RunTransfers> times) {
  TransferSummary summary{.times = std::move(times),
                          .number = std::vector<std::vector<std::uint32_t>>(ranks.size()),
                          .own_ns_of_record = std::vector<std::vector<std::int64_t>>(ranks.size())};
  ForEachInParallel(ranks.size(), [&](std::size_t r) {
    summary.number[r] = summary.times->NumbersOf(ranks[r]);
    summary.own_ns_of_record[r] = summary.times->OwnTimesNs(ranks[r], summary.number[r]);
    summary.times->AddOwnTimes(ranks[r], summary.number[r], summary.own_ns_of_record[r]);
  });
  return summary;
}

TransferSummary SummarizeTransfers(std::span<const MeasuredRank> ranks) {
  auto times = std::make_shared<RunTransfers>(ranks);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    times->Add(ranks[r], r);
  }
  times->Close();
  return TakeTransfers(ranks, std::move(times));
}

}  // namespace reprise
