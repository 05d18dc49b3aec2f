// Compares executions of one workload on several machines, generations or settings. Pure functions
// over reports and operations; docs/comparisons.md explains the results and holds the JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "report/compare/compared.h"

namespace reprise {

// Compares the operations of every run with those of the first side's middle run. All have
// operations.
void AlignSides(std::vector<ComparedSide>& sides);

// A reason for which two runs should not be compared. `key` is what --allow takes: "trace",
// "part", "mode", "coverage", "iterations".
struct Incomparable {
  std::string key;
  std::string why;
  bool expected = false;  // a prediction beside a replay: said, and no reason to refuse
};

// Why these should not be compared, each reason once; empty if they can. Of aligned sides: whether
// enough operations align, and whether repeats are of the same ranks and steps.
[[nodiscard]] std::vector<Incomparable> FindIncomparable(const std::vector<ComparedSide>& sides);

// Two sides or more, each with one run or more; one alone has values and ranks. `allowed`: keys of
// what FindIncomparable found and the caller lets pass; they become warnings.
[[nodiscard]] Comparison Compare(const std::vector<ComparedSide>& sides,
                                 const std::vector<Incomparable>& allowed);

// For people: verdict first, at most 100 columns. At most kComparisonLines lines of it, or with
// `full` everything. Of one side its ranks; of aligned sides where their operations differ.
inline constexpr std::size_t kComparisonLines = 40;
[[nodiscard]] std::string ComparisonText(const std::vector<ComparedSide>& sides,
                                         const Comparison& comparison, bool colour, bool full);
// For a review's page or a CI's summary.
[[nodiscard]] std::string ComparisonMarkdown(const std::vector<ComparedSide>& sides,
                                             const Comparison& comparison);
// One JSON object (docs/comparisons.md). `figures`: what the HTML page draws in place of the
// comparison. `timelines`: with what the page draws besides.
[[nodiscard]] std::string ComparisonJson(const std::vector<ComparedSide>& sides,
                                         const Comparison& comparison,
                                         const std::vector<std::string>& figures,
                                         bool timelines = false);

// Parts of it that a page of a sweep has, too: "runs", "iterations"; of trace sets "recordings",
// or "none" where each side has one.
[[nodiscard]] std::string_view RepeatsName(const Comparison& comparison);
[[nodiscard]] nlohmann::ordered_json QuantitiesJson(const Comparison& comparison);

}  // namespace reprise
