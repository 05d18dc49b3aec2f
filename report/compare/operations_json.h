// Operations and their differences as JSON (docs/comparisons.md). Only report/compare sees this.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "report/compare/operation_difference.h"
#include "report/compare/ranks.h"
#include "report/operations/job_operations.h"

namespace reprise {

// A side's: its ranks with their steps, weights and passes of inference.
[[nodiscard]] nlohmann::ordered_json OperationsJson(const JobOperations& of,
                                                    const std::vector<PathPart>& critical_path);
[[nodiscard]] nlohmann::ordered_json DifferenceJson(const OperationDifference& of);
[[nodiscard]] nlohmann::ordered_json RanksJson(const JobOperations& job, const RankComparison& of);
// What a page draws of a rank over time: the class that ran most, in 1,500 intervals.
[[nodiscard]] nlohmann::ordered_json TimelineJson(const RankOperations& rank);

}  // namespace reprise
