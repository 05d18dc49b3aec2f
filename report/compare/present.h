// How the cells of a comparison read, in text as in Markdown. Only report/compare sees this.
#pragma once

#include <string>
#include <vector>

#include "report/compare/compare.h"

namespace reprise {

// "0.210 s", "431 W", "-" for nothing.
[[nodiscard]] std::string ValueText(const std::string& unit, std::optional<double> value);
// "1.42x 1.39-1.45", "+3.1 C"; empty for none.
[[nodiscard]] std::string RelationText(const std::string& unit, const ComparedCell& cell);
[[nodiscard]] std::string RatioText(const std::optional<Ratio>& ratio);

// What the values are, and what their intervals hold.
[[nodiscard]] std::string HowMeasured(const Comparison& comparison);

// A table of a comparison: heading, columns, cells.
struct PresentedTable {
  std::string title, more;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

// All tables that have rows, of the sides at these positions; the first side is among them.
[[nodiscard]] std::vector<PresentedTable> PresentTables(const std::vector<ComparedSide>& sides,
                                                        const Comparison& comparison,
                                                        const std::vector<std::size_t>& positions);

}  // namespace reprise
