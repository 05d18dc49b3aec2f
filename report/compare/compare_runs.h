// Compares runs of one workload on several machines, generations or settings. Pure functions over
// reports; docs/comparisons.md explains the results and holds the JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "report/compare/compared.h"

namespace reprise {

// A reason for which two runs should not be compared. `key` is what --allow takes: "trace",
// "ranks", "mode", "coverage", "monitor".
struct Incomparable {
  std::string key;
  std::string why;
  bool expected = false;  // a prediction beside a replay: said, and no reason to refuse
};

// Why these should not be compared, each reason once; empty if they can.
[[nodiscard]] std::vector<Incomparable> FindIncomparable(const std::vector<ComparedSide>& sides);

// Two sides or more, each with one run or more. `allowed`: keys of what FindIncomparable found and
// the caller lets pass; they become warnings.
[[nodiscard]] Comparison Compare(const std::vector<ComparedSide>& sides,
                                 const std::vector<Incomparable>& allowed);

// For people: verdict first, at most 100 columns. At most kComparisonLines lines of it, or with
// `full` everything.
inline constexpr std::size_t kComparisonLines = 40;
[[nodiscard]] std::string ComparisonText(const std::vector<ComparedSide>& sides,
                                         const Comparison& comparison, bool colour, bool full);
// For a review's page or a CI's summary.
[[nodiscard]] std::string ComparisonMarkdown(const std::vector<ComparedSide>& sides,
                                             const Comparison& comparison);
// One JSON object (docs/comparisons.md). `figures`: what the HTML page draws in place of the
// comparison.
[[nodiscard]] std::string ComparisonJson(const std::vector<ComparedSide>& sides,
                                         const Comparison& comparison,
                                         const std::vector<std::string>& figures);

// Parts of it that comparisons of recordings have, too: "runs", "iterations"; of recordings
// "recordings", or "none" where each side has one.
[[nodiscard]] std::string_view RepeatsName(const Comparison& comparison);
[[nodiscard]] nlohmann::ordered_json QuantitiesJson(const Comparison& comparison);

}  // namespace reprise
