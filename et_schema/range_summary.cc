#include "et_schema/range_summary.h"

#include <algorithm>
#include <numeric>

namespace reprise {

void RangeSummary::Add(const TraceMetadata& metadata) {
  for (const Range& range : metadata.ranges) {
    Entry& entry = entries_[range.name];
    entry.durations_ns.push_back(range.duration_ns);
    entry.ranks += entry.last_rank == metadata.rank ? 0 : 1;
    entry.last_rank = metadata.rank;
  }
}

std::vector<RangeRow> RangeSummary::Rows() const {
  std::vector<RangeRow> rows;
  for (const auto& [name, entry] : entries_) {
    std::vector<std::int64_t> sorted = entry.durations_ns;
    std::sort(sorted.begin(), sorted.end());
    rows.push_back({name, sorted.size(), entry.ranks, sorted[sorted.size() / 2],
                    std::accumulate(sorted.begin(), sorted.end(), std::int64_t{0})});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; });
  return rows;
}

nlohmann::ordered_json RangeSummary::ToJson() const {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const RangeRow& row : Rows()) {
    out.push_back({{"name", row.name},
                   {"ranks", row.ranks},
                   {"count", row.count},
                   {"median_ns", row.median_ns},
                   {"total_ns", row.total_ns}});
  }
  return out;
}

}  // namespace reprise
