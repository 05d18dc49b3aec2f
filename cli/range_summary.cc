#include "cli/range_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/shown_text.h"

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

void RangeSummary::Print() const {
  constexpr std::size_t kMax = 20;
  const std::vector<RangeRow> rows = Rows();
  if (rows.empty()) {
    return;
  }
  fmt::print("\n{:<48} {:>6} {:>9} {:>15}\n", "marked ranges (replay --range)", "ranks", "count",
             "median");
  for (std::size_t i = 0; i < std::min(rows.size(), kMax); ++i) {
    fmt::print("{:<48} {:>6} {:>9} {:>12.3f} ms\n", ShownText(rows[i].name), rows[i].ranks,
               rows[i].count, static_cast<double>(rows[i].median_ns) / 1e6);
  }
  if (rows.size() > kMax) {
    fmt::print("… and {} more names\n", rows.size() - kMax);
  }
}

}  // namespace reprise
