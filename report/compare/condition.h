// What a comparison must not be, for use in CI: "time>1.05".
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "report/compare/compared.h"

namespace reprise {

// NAME[.low|.high|.value] OPERATOR NUMBER, several joined by "||" (any of them fails). NAME is a
// row's (ComparedRow::name) and stands for the ratio to the first side; .low and .high are the ends
// of its 95 % interval, .value is the quantity itself in its unit. OPERATOR: > >= < <=.
struct Condition {
  enum class Of : std::uint8_t { kRatio, kLow, kHigh, kValue };
  std::string text;  // as given
  std::string name;
  Of of = Of::kRatio;
  std::string comparison;  // the operator
  double bound = 0;
};
// Usage errors say what was expected.
[[nodiscard]] Result<std::vector<Condition>> ParseConditions(const std::string& text);

// What holds, a sentence for each side after the first (for .value: each side). Usage error for a
// name that no row has (it lists them); bad input where a value, a ratio or an interval that is
// asked for is not known: a check that can't be made must not pass.
[[nodiscard]] Result<std::vector<std::string>> FindViolations(
    const std::vector<Condition>& conditions, const std::vector<ComparedSide>& sides,
    const Comparison& comparison);

}  // namespace reprise
