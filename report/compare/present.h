// A comparison as tables of words, for text as for Markdown. Only report/compare sees this.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/compare/compared.h"
#include "report/text/table.h"

namespace reprise {

// "0.210 s", "431 W", "-" for nothing.
[[nodiscard]] std::string ValueText(const std::string& unit, std::optional<double> value);

enum class Room : std::uint8_t {
  kLine,  // 100 columns: names are cut, and of more than two sides intervals left out
  kAny,
};

// What the values are, and what their intervals hold.
[[nodiscard]] std::string HowMeasured(const Comparison& comparison);

struct PresentedTable {
  std::string title, more;  // `more` explains the title; may be empty
  Table table;
};

// All tables that have rows, of the sides at these positions; the first side is among them. On a
// line there is room for three.
[[nodiscard]] std::vector<PresentedTable> PresentTables(const std::vector<ComparedSide>& sides,
                                                        const Comparison& comparison,
                                                        const std::vector<std::size_t>& positions,
                                                        Room room);

// Of aligned sides: where their operations differ. On a console at most kComparisonLines lines, or
// with `full` everything.
[[nodiscard]] std::string DifferencesText(const std::vector<ComparedSide>& sides,
                                          const Style& style, bool full);
// The ranks of one execution, likewise.
[[nodiscard]] std::string RanksText(const JobOperations& job, const RankComparison& ranks,
                                    const Style& style, bool full);

}  // namespace reprise
