// Transfers put together again from what each rank recorded of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "report/nodes/measured.h"
#include "report/nodes/run_transfers.h"

namespace reprise {

// One rank's part in a transfer.
struct MatchedMember {
  std::uint32_t rank = 0;  // position in the span of ranks
  std::uint32_t node = 0;
  const CollectiveInfo* info = nullptr;
};

// Which of these ranks' collectives are one transfer: they agree on group, whether a collective,
// kind or (source, destination), and on the position among those. By these, and members by rank.
// Of a run whose ranks stand for classes, messages between classes are matched.
struct TransferMatches {
  std::vector<MatchedMember> members;
  std::vector<std::uint32_t> first;  // of each transfer, and one past the last

  [[nodiscard]] std::size_t size() const { return first.size() - 1; }
  [[nodiscard]] std::span<const MatchedMember> Of(std::size_t transfer) const {
    return {members.data() + first[transfer], members.data() + first[transfer + 1]};
  }
};
[[nodiscard]] TransferMatches MatchTransfers(std::span<const MeasuredRank> ranks);

// What some ranks of a run spent in transfers. `times` are of the whole run, and closed.
struct TransferSummary {
  std::shared_ptr<RunTransfers> times;
  // By rank, then as RunTransfers has them: by position in RankData::collectives, by record.
  std::vector<std::vector<std::uint32_t>> number;
  std::vector<std::vector<std::int64_t>> own_ns_of_record;

  // From the last arrival to the rank's own end; nothing where not all members finished that
  // iteration.
  [[nodiscard]] std::optional<std::int64_t> OwnNs(std::size_t rank, std::size_t record) const {
    const auto& times_ns = own_ns_of_record[rank];
    return times_ns.empty() || times_ns[record] == RunTransfers::kUnknown
               ? std::nullopt
               : std::optional(times_ns[record]);
  }
};

// Of all ranks of a run.
[[nodiscard]] TransferSummary SummarizeTransfers(std::span<const MeasuredRank> ranks);
// Of some; adds to the rows of `times`.
[[nodiscard]] TransferSummary TakeTransfers(std::span<const MeasuredRank> ranks,
                                            std::shared_ptr<RunTransfers> times);

}  // namespace reprise
