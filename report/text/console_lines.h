// Lines that the short report and the sections share. Only report/ sees this.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/text/table.h"
#include "report/values/report.h"

namespace reprise {

// The first rows of a list.
template <typename Row>
[[nodiscard]] std::span<const Row> First(std::size_t most, const std::vector<Row>& rows) {
  return std::span(rows).first(std::min(rows.size(), most));
}
// The rows of a list with the largest key first.
template <typename Row, typename Key>
[[nodiscard]] std::vector<const Row*> LargestFirst(const std::vector<Row>& rows, const Key& key) {
  std::vector<const Row*> sorted;
  std::transform(rows.begin(), rows.end(), std::back_inserter(sorted),
                 [](const Row& row) { return &row; });
  std::ranges::stable_sort(sorted, std::greater{},
                           [&key](const Row* row) { return std::invoke(key, *row); });
  return sorted;
}
// The line below a table that shows `most` rows: "  .. and 3 rows more; --json has all".
[[nodiscard]] std::string RowsLeftOut(std::size_t rows, std::size_t most, const char* what);
// What begins a line of the summary: 16 columns.
[[nodiscard]] std::string Label(const std::string& name, const Style& style);
// A line of the summary; what does not fit goes below it, indented.
[[nodiscard]] std::string SummaryLine(const std::string& name, const std::string& text,
                                      const Style& style);
// What comes before the verdict, the verdict, then its first warnings.
[[nodiscard]] std::string VerdictLines(const Verdict& verdict, std::size_t most_warnings,
                                       const Style& style);
// "real 49.1 % of the step, timed 33.4 % (compiled code 33.0 %), pauses 17.5 % (host work 17.5 %)":
// what is 0.0 % is left out, but for real. `whole`: "the step".
[[nodiscard]] std::string CoverageText(const Coverage& coverage, std::string_view whole);
// Of predictions empty: nothing was replayed.
[[nodiscard]] std::string CoverageLine(const Report& report, const Style& style);
// How the times of a prediction were found; empty where no time has a source.
[[nodiscard]] std::string SourceLine(const Report& report, const Style& style);
// Whether the run's ranks stand for classes of equal ranks.
[[nodiscard]] bool HasClasses(const Report& report);
// "class 3 (128 ranks: 0-7, 64-127:8)", or "rank 5" of a class of its own.
[[nodiscard]] std::string ClassText(const RankRow& row);
// "class 3, 32 ranks"; of a class of one rank, and of one that no row is of, "rank 3".
[[nodiscard]] std::string ShortClassText(const Report& report, std::int32_t rank);
// In place of a recorded step, where there is none.
inline constexpr char kNoRecordedStep[] = "no recorded step: no times were recorded";
[[nodiscard]] std::string EnergyLine(const Report& report, const Style& style);
// A table of the first `most` phases; empty for none.
[[nodiscard]] std::string PhaseUsesText(const Report& report, const Style& style, std::size_t most);
// A table of metrics, those of single cores left out; at most so many.
[[nodiscard]] std::string MetricRows(const Report& report, std::size_t most);

}  // namespace reprise
