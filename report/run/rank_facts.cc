#include "report/run/rank_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <concepts>
#include <iterator>

#include "core/text.h"

namespace reprise {
namespace {

template <typename T>
constexpr std::size_t SpaceOf(T RankFacts::* /*member*/) {
  return (sizeof(T) + alignof(RankFacts) - 1) / alignof(RankFacts) * alignof(RankFacts);
}
constexpr std::size_t SpaceOfRows() {
  std::size_t bytes = 0;
  for (const RankFactRow& row : kRankFacts) {
    bytes += std::visit([](auto member) { return SpaceOf(member); }, row.member);
  }
  return bytes;
}
// NOLINTNEXTLINE(bugprone-sizeof-container): the member itself, not what it holds
static_assert(SpaceOfRows() + sizeof(RankFacts::others) == sizeof(RankFacts),
              "each member of RankFacts has one row in kRankFacts");

// A value as files have it.
std::string FactText(const std::string& value) { return value; }
std::string FactText(bool value) { return value ? "true" : "false"; }
std::string FactText(double value) { return fmt::format("{:.6g}", value); }
template <std::integral Int>
std::string FactText(Int value) {
  return std::to_string(value);
}
std::string FactText(const std::vector<std::int64_t>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ","));
}
std::string FactText(const std::vector<ClockReading>& readings) { return ReadingsText(readings); }
std::string FactText(const std::vector<IterationLoad>& loads) { return LoadsText(loads); }
std::string FactText(const ValueCounts& counts) {
  return fmt::format("{} {} {} {}", counts.values, counts.denormals, counts.infinities,
                     counts.nans);
}

// The other way round. Returns what the text should have been; empty: it is.
std::string_view ParseFact(std::string_view text, std::string& value) {
  value = text;
  return "";
}
std::string_view ParseFact(std::string_view text, bool& value) {
  value = text == "true";
  return value || text == "false" ? "" : "true or false";
}
template <typename Number>
std::string_view ParseFact(std::string_view text, Number& value) {
  const auto number = ParseNumber<Number>(text);
  value = number.value_or(Number{});
  return number ? "" : std::floating_point<Number> ? "a number" : "a whole number";
}
std::string_view ParseFact(std::string_view text, std::vector<std::int64_t>& numbers) {
  for (const std::string_view part : SplitText(text, ',')) {
    if (!text.empty() && !ParseFact(part, numbers.emplace_back()).empty()) {
      return "whole numbers, separated by commas";
    }
  }
  return "";
}
std::string_view ParseFact(std::string_view text, std::vector<ClockReading>& readings) {
  auto parsed = ParseReadings(text);
  if (parsed) {
    readings = std::move(*parsed);
  }
  return parsed ? "" : "whole numbers, \"at offset uncertainty; …\"";
}
std::string_view ParseFact(std::string_view text, std::vector<IterationLoad>& loads) {
  auto parsed = ParseLoads(text);
  if (parsed) {
    loads = std::move(*parsed);
  }
  return parsed ? "" : "eight whole numbers for each iteration, separated by blanks and \"; \"";
}
std::string_view ParseFact(std::string_view text, ValueCounts& counts) {
  const auto parts = SplitText(text, ' ');
  std::int64_t* const numbers[] = {&counts.values, &counts.denormals, &counts.infinities,
                                   &counts.nans};
  for (std::size_t i = 0; i < std::size(numbers); ++i) {
    if (parts.size() != std::size(numbers) || !ParseFact(parts[i], *numbers[i]).empty()) {
      return "four whole numbers, separated by blanks";
    }
  }
  return "";
}

template <typename T>
void AddRows(std::string_view name, const T& value, std::vector<RunFact>& rows) {
  if (value != T{}) {
    rows.push_back({std::string(name), FactText(value)});
  }
}
template <typename T>
void AddRows(std::string_view name, const std::optional<T>& value, std::vector<RunFact>& rows) {
  if (value) {
    rows.push_back({std::string(name), FactText(*value)});
  }
}
template <typename T>
void AddRows(std::string_view prefix, const Named<T>& entries, std::vector<RunFact>& rows) {
  for (const auto& [name, value] : entries) {
    rows.push_back({std::string(prefix) + name, FactText(value)});
  }
}

// `rest`: what follows the row's own name.
template <typename T>
std::string_view Restore(std::string_view /*rest*/, std::string_view text, T& value) {
  return ParseFact(text, value);
}
template <typename T>
std::string_view Restore(std::string_view /*rest*/, std::string_view text,
                         std::optional<T>& value) {
  return ParseFact(text, value.emplace());
}
template <typename T>
std::string_view Restore(std::string_view rest, std::string_view text, Named<T>& entries) {
  return ParseFact(text, entries.emplace_back(rest, T{}).second);
}

}  // namespace

std::vector<RunFact> FactRows(const RankFacts& facts) {
  std::vector<RunFact> rows;
  for (const RankFactRow& row : kRankFacts) {
    std::visit([&](auto member) { AddRows(row.name, facts.*member, rows); }, row.member);
  }
  AddRows("", facts.others, rows);
  return rows;
}

Status AddFact(const RunFact& fact, RankFacts& facts) {
  const std::string_view name = fact.name;
  const auto* const row = std::ranges::find_if(kRankFacts, [name](const RankFactRow& known) {
    return known.name.ends_with('.') ? name.starts_with(known.name) : name == known.name;
  });
  if (row == kRankFacts.end()) {
    facts.others.emplace_back(fact.name, fact.value);
    return {};
  }
  const std::string_view expected = std::visit(
      [&](auto member) {
        return Restore(name.substr(row->name.size()), fact.value, facts.*member);
      },
      row->member);
  return expected.empty() ? Status{}
                          : BadInput(fmt::format("fact {} is '{:.40}', expected {}", name,
                                                 fact.value, expected));
}

}  // namespace reprise
