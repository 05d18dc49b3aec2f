#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "report/compare/rows.h"

namespace reprise {
namespace {

using Key = std::tuple<std::string, std::int32_t, std::int64_t>;  // name, ranks, bytes

// One value a run: of groups of one size, whose names differ between runs, the median.
struct Sum {
  std::int64_t count = 0;  // of one pass
  std::vector<double> seconds;
  std::vector<double> busbw_gb_per_s;
};

std::map<Key, Sum> SumsOf(const ComparedSide& side) {
  std::map<Key, Sum> sums;
  for (const ComparedRun& run : side.runs) {
    std::map<Key, Sum> of_run;
    for (const CollectiveRow& row : run.report.collectives) {
      if (row.replayed_ns) {
        Sum& sum = of_run[{row.name, row.group_size, row.bytes}];
        sum.count += row.count;
        sum.seconds.push_back(static_cast<double>(*row.replayed_ns) * 1e-9);
        if (row.busbw_gb_per_s) {
          sum.busbw_gb_per_s.push_back(*row.busbw_gb_per_s);
        }
      }
    }
    for (const auto& [key, groups] : of_run) {
      Sum& sum = sums[key];
      sum.count = std::max(sum.count, groups.count);
      sum.seconds.push_back(Describe(groups.seconds)->value);
      if (const auto busbw = Describe(groups.busbw_gb_per_s)) {
        sum.busbw_gb_per_s.push_back(busbw->value);
      }
    }
  }
  return sums;
}

double LongestSeconds(const ComparedTransfer& transfer) {
  double longest = 0;
  for (const auto& cell : transfer.cells) {
    if (cell) {
      longest = std::max(longest, cell->seconds.value * static_cast<double>(cell->count));
    }
  }
  return longest;
}

}  // namespace

std::vector<ComparedTransfer> CompareTransfers(const std::vector<ComparedSide>& sides) {
  std::vector<std::map<Key, Sum>> sums;
  std::map<Key, ComparedTransfer> rows;
  for (const ComparedSide& side : sides) {
    sums.push_back(SumsOf(side));
    for (const auto& [key, sum] : sums.back()) {
      rows[key].cells.resize(sides.size());
    }
  }
  std::vector<ComparedTransfer> out;
  for (auto& [key, row] : rows) {
    std::tie(row.name, row.group_size, row.bytes) = key;
    const auto base = sums.front().find(key);
    for (std::size_t s = 0; s < sides.size(); ++s) {
      if (const auto found = sums[s].find(key); found != sums[s].end()) {
        const Sum& sum = found->second;
        ComparedTransfer::Cell& cell = row.cells[s].emplace();
        cell.count = sum.count;
        cell.seconds = Describe(sum.seconds).value_or(Quantity{});
        if (const auto busbw = Describe(sum.busbw_gb_per_s)) {
          cell.busbw_gb_per_s = busbw->value;
        }
        if (base != sums.front().end()) {
          cell.ratio = RatioOf(sum.seconds, base->second.seconds);
        }
      }
    }
    out.push_back(std::move(row));
  }
  std::ranges::stable_sort(out, std::greater{}, LongestSeconds);
  return out;
}

}  // namespace reprise
