#include "report/compare/condition.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace reprise {
namespace {

using Of = Condition::Of;

std::string Trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? ""
                                    : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// Takes ".low" and its like off the name.
Of TakeSuffix(std::string& name) {
  static constexpr std::pair<std::string_view, Of> kSuffixes[] = {
      {".low", Of::kLow}, {".high", Of::kHigh}, {".value", Of::kValue}};
  for (const auto& [suffix, of] : kSuffixes) {
    if (name.ends_with(suffix)) {
      name.resize(name.size() - suffix.size());
      return of;
    }
  }
  return Of::kRatio;
}

Result<Condition> ParseCondition(const std::string& text) {
  Condition condition{.text = Trimmed(text)};
  const std::size_t at = text.find_first_of("<>");
  const auto fail = [&] {
    return UsageError(fmt::format(
        "--fail-if '{}': expected NAME[.low|.high|.value] OPERATOR NUMBER, such as 'time>1.05' or "
        "'time.low>1.05 || energy>1.1'; operators: > >= < <=",
        condition.text));
  };
  if (at == std::string::npos) {
    return fail();
  }
  condition.name = Trimmed(text.substr(0, at));
  condition.of = TakeSuffix(condition.name);
  const bool or_equal = at + 1 < text.size() && text[at + 1] == '=';
  condition.comparison = text.substr(at, or_equal ? 2 : 1);
  const std::string number = Trimmed(text.substr(at + condition.comparison.size()));
  char* end = nullptr;
  condition.bound = std::strtod(number.c_str(), &end);
  if (condition.name.empty() || number.empty() || *end != '\0' || !std::isfinite(condition.bound)) {
    return fail();
  }
  return condition;
}

bool Holds(const Condition& condition, double value) {
  if (condition.comparison == ">") {
    return value > condition.bound;
  }
  if (condition.comparison == ">=") {
    return value >= condition.bound;
  }
  return condition.comparison == "<" ? value < condition.bound : value <= condition.bound;
}

std::optional<double> ValueFor(Of of, const ComparedCell& cell) {
  if (of == Of::kValue) {
    return cell.quantity ? std::optional(cell.quantity->value) : std::nullopt;
  }
  if (!cell.ratio) {
    return std::nullopt;
  }
  switch (of) {
    case Of::kLow:
      return cell.ratio->low;
    case Of::kHigh:
      return cell.ratio->high;
    default:
      return cell.ratio->value;
  }
}

std::string WhyUnknown(const ComparedRow& row, const ComparedCell& cell) {
  if (!cell.quantity) {
    return "it was not measured";
  }
  if (cell.difference) {
    return fmt::format("a quantity in {} has no ratio; use {}.value", row.unit, row.name);
  }
  if (cell.ratio) {
    return "only repeats have an interval; give several runs of each side: A=RUN,RUN,RUN";
  }
  return row.note.empty() ? "the first side has none" : "no ratio: " + row.note;
}

Status Check(const Condition& condition, const std::vector<ComparedSide>& sides,
             const Comparison& comparison, std::vector<std::string>& violations) {
  const auto found = std::ranges::find(comparison.rows, condition.name, &ComparedRow::name);
  if (found == comparison.rows.end()) {
    std::vector<std::string> names;
    for (const ComparedRow& row : comparison.rows) {
      if (row.group == "summary") {
        names.push_back(row.name);
      }
    }
    return UsageError(fmt::format(
        "--fail-if '{}': these {} have no '{}'; they have {}, and the classes, phases and "
        "collectives of --json: class.NAME, class.NAME.energy, phase.NAME, collective.NAME",
        condition.text, comparison.recorded ? "recordings" : "runs", condition.name,
        fmt::join(names, ", ")));
  }
  for (std::size_t s = condition.of == Of::kValue ? 0 : 1; s < sides.size(); ++s) {
    const ComparedCell& cell = found->cells[s];
    const auto value = ValueFor(condition.of, cell);
    if (!value) {
      return BadInput(fmt::format("--fail-if '{}' can't be checked for {}: {}", condition.text,
                                  sides[s].label, WhyUnknown(*found, cell)));
    }
    if (Holds(condition, *value)) {
      violations.push_back(
          fmt::format("{}: {} holds, it is {:.4g}", sides[s].label, condition.text, *value));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<Condition>> ParseConditions(const std::string& text) {
  std::vector<Condition> conditions;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find("||", at), text.size());
    REPRISE_ASSIGN(Condition condition, ParseCondition(text.substr(at, end - at)));
    conditions.push_back(std::move(condition));
    at = end + 2;
  }
  return conditions;
}

Result<std::vector<std::string>> FindViolations(const std::vector<Condition>& conditions,
                                                const std::vector<ComparedSide>& sides,
                                                const Comparison& comparison) {
  std::vector<std::string> violations;
  for (const Condition& condition : conditions) {
    REPRISE_TRY(Check(condition, sides, comparison, violations));
  }
  return violations;
}

}  // namespace reprise
