#include "report/text/odd_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "report/text/table.h"

namespace reprise {
namespace {

double OddShare(const ValueCounts& counts) {
  const auto odd = static_cast<double>(counts.denormals + counts.infinities + counts.nans);
  return counts.values > 0 ? odd / static_cast<double>(counts.values) : 0;
}

std::string ShareText(const ValueCounts& counts, std::int64_t part) {
  const double percent = 100 * static_cast<double>(part) / static_cast<double>(counts.values);
  return percent < 0.01 ? "under 0.01 %" : fmt::format("{:.2g} %", percent);
}

std::string CountsText(const ValueRow& row) {
  std::string text = row.name + ":";
  const char* before = " ";
  for (const auto& [part, name] : {std::pair(row.counts.denormals, "denormals"),
                                   {row.counts.infinities, "infinities"},
                                   {row.counts.nans, "NaN"}}) {
    if (part > 0) {
      text += fmt::format("{}{} {}", before, ShareText(row.counts, part), name);
      before = ", ";
    }
  }
  return text;
}

}  // namespace

std::vector<ValueRow> CollectValues(const RunData& run) {
  std::map<std::string, ValueCounts> by_name;
  for (const RankData& rank : run.ranks) {
    for (const auto& [operation, counts] : rank.facts.values) {
      by_name[operation] += counts;
    }
  }
  std::vector<ValueRow> rows;
  rows.reserve(by_name.size());
  for (const auto& [name, counts] : by_name) {
    rows.push_back({name, counts});
  }
  std::ranges::stable_sort(rows, std::greater{},
                           [](const ValueRow& row) { return OddShare(row.counts); });
  return rows;
}

std::string OddValuesText(const Report& report, const std::string& operation) {
  const auto row = std::ranges::find(report.values, operation, &ValueRow::name);
  return row == report.values.end() || !HasOddValues(row->counts) ? "" : CountsText(*row);
}

void NameValuesAsCause(Report& report) {
  constexpr std::int64_t kMuchSlower = 3;
  for (TopDifferenceRow& row : report.details.top_differences) {
    if (report.values.empty() && row.replayed_ns > kMuchSlower * row.recorded_ns &&
        row.cause.find(" slower: ") != std::string::npos) {
      row.cause += "; --check-values shows whether values are a cause";
    }
    const std::string odd = OddValuesText(report, row.name);
    if (!odd.empty() && row.replayed_ns > row.recorded_ns) {
      row.cause = "values: it computed with numbers that a training does not have (" + odd + ")";
    }
  }
}

std::string OddValuesWarning(const Report& report) {
  const auto odd = std::ranges::count_if(
      report.values, [](const ValueRow& row) { return HasOddValues(row.counts); });
  if (odd == 0) {
    return "";
  }
  return fmt::format(
      "Values: {} operation{} computed with numbers that a training does not have ({}). Processors "
      "may be many times slower with them: --section values.",
      odd, odd == 1 ? "" : "s", CountsText(report.values.front()));
}

}  // namespace reprise
