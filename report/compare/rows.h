// The quantities of a comparison, row by row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/compare/compared.h"

namespace reprise {

// `like` has the row's name, unit and the like. Ratios are to the first side. Nothing where no side
// has a value.
[[nodiscard]] std::optional<ComparedRow> CompareValues(ComparedRow like,
                                                       const std::vector<SideValues>& sides,
                                                       bool repeats_are_runs);
// A row of the summary without cells: "peak_power" with its label, unit and which way is better.
// The name must be one of the summary's.
[[nodiscard]] ComparedRow SummaryRow(std::string_view name);
// Each quantity that a run of any side has, the summary's first.
[[nodiscard]] std::vector<ComparedRow> CompareQuantities(const std::vector<ComparedSide>& sides,
                                                         bool repeats_are_runs);
// Each rank's metrics: step, power, temperature and the like. `ranks`: their loads, where known.
[[nodiscard]] HeatMap DescribeHeat(const Report& report, const RankComparison* ranks);

// Whether every side has two runs or more, so that runs are the repeats.
[[nodiscard]] bool RepeatsAreRuns(const std::vector<ComparedSide>& sides);
// Parts of the report's critical path, largest first; empty where it is not known.
[[nodiscard]] std::vector<PathPart> CriticalPathOf(const Report& report);
// A sentence for each side of which only a part is compared.
[[nodiscard]] std::vector<std::string> DescribeParts(const std::vector<ComparedSide>& sides);

// What the meters in a report's total are of: "GPUs" for any vendor's, else their source.
[[nodiscard]] std::string MeteredText(const Report& report);

[[nodiscard]] std::vector<ComparedTransfer> CompareTransfers(
    const std::vector<ComparedSide>& sides);

// Of the middle runs; nothing where no operation was measured.
[[nodiscard]] std::optional<DifferenceParts> ExplainParts(const ComparedSide& side,
                                                          const ComparedSide& base);

// A sentence on the side at `position` (1 or more) against the first. `comparison` has its rows and
// differences.
[[nodiscard]] std::string VerdictText(const std::vector<ComparedSide>& sides,
                                      const Comparison& comparison, std::size_t position);

// Of the job, with those that classes stand for, and those that left no file.
[[nodiscard]] std::int64_t JobRanks(const Report& report);
// "4 x opencl: NVIDIA H100": the devices of all ranks.
[[nodiscard]] std::string DevicesText(const Report& report);

}  // namespace reprise
