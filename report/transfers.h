// Transfers put together again from what each rank recorded of them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "report/measured.h"
#include "report/report.h"

namespace reprise {

// What all members of one transfer agree on: group, whether a collective, kind or (source,
// destination), and the position among those.
using TransferKey = std::tuple<std::string, int, std::int32_t, std::int32_t, std::int64_t>;
[[nodiscard]] TransferKey KeyOf(const CollectiveInfo& info, std::int32_t rank);

struct TransferSummary {
  std::vector<CollectiveRow> rows;  // by name, group, bytes
  // (position in the span of ranks, node) → median time from the last arrival to this rank's end.
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> own_ns;
  // The same of each record, where all members finished that iteration.
  std::unordered_map<const NodeRecord*, std::int64_t> own_ns_of_record;
};

[[nodiscard]] TransferSummary SummarizeTransfers(std::span<const MeasuredRank> ranks);

}  // namespace reprise
