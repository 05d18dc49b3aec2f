// Transfers put together again from what each rank recorded of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "report/nodes/measured.h"
#include "report/values/transfer_values.h"

namespace reprise {

// One rank's part in a transfer.
struct MatchedMember {
  std::uint32_t rank = 0;  // position in the span of ranks
  std::uint32_t node = 0;
  const CollectiveInfo* info = nullptr;
};

// Which of the ranks' collectives are one transfer: they agree on group, whether a collective, kind
// or (source, destination), and on the position among those. By these, and members by rank.
struct TransferMatches {
  std::vector<MatchedMember> members;
  std::vector<std::uint32_t> first;  // of each transfer, and one past the last
  // By rank and position in RankData::collectives; kNone: its node is not known.
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::vector<std::vector<std::uint32_t>> number;

  [[nodiscard]] std::size_t size() const { return first.size() - 1; }
  [[nodiscard]] std::span<const MatchedMember> Of(std::size_t transfer) const {
    return {members.data() + first[transfer], members.data() + first[transfer + 1]};
  }
};
[[nodiscard]] TransferMatches MatchTransfers(std::span<const MeasuredRank> ranks);

struct TransferSummary {
  TransferMatches matches;
  std::vector<CollectiveRow> rows;  // by name, group, bytes
  // Times from the last arrival to a rank's own end, by rank and record; kUnknown where not all
  // members finished that iteration. A rank without transfers has none.
  static constexpr std::int64_t kUnknown = INT64_MIN;
  std::vector<std::vector<std::int64_t>> own_ns_of_record;

  [[nodiscard]] std::optional<std::int64_t> OwnNs(std::size_t rank, std::size_t record) const {
    const auto& times_ns = own_ns_of_record[rank];
    return times_ns.empty() || times_ns[record] == kUnknown ? std::nullopt
                                                            : std::optional(times_ns[record]);
  }
};

[[nodiscard]] TransferSummary SummarizeTransfers(std::span<const MeasuredRank> ranks);

// Of some ranks of a run, whose outline (RankContent::kOutline) has been summarized: times from
// there, matches among these ranks, no rows. `positions` says which of `outline_ranks` they are.
[[nodiscard]] TransferSummary TakeTransfers(std::span<const MeasuredRank> ranks,
                                            std::span<const std::size_t> positions,
                                            std::span<const MeasuredRank> outline_ranks,
                                            const TransferSummary& outline);

}  // namespace reprise
