// The quantities of a comparison. Only report/compare sees this.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/compare/compare.h"

namespace reprise {

[[nodiscard]] bool IsMonitored(const Report& report);

// Whether every side has two runs or more, so that runs are the repeats.
[[nodiscard]] bool RepeatsAreRuns(const std::vector<ComparedSide>& sides);

// What the meters in a report's total are of: "GPUs" for any vendor's, else their source.
[[nodiscard]] std::string MeteredText(const Report& report);

[[nodiscard]] std::vector<ComparedTransfer> CompareTransfers(
    const std::vector<ComparedSide>& sides);

// Of the runs in the middle of their sides; nothing where no operation was measured.
[[nodiscard]] std::optional<DifferenceParts> ExplainParts(const ComparedSide& side,
                                                          const ComparedSide& base);

// "4 x opencl: NVIDIA H100": the devices of all ranks.
// Of the job, with those that classes stand for, and those that left no file.
[[nodiscard]] std::int64_t JobRanks(const Report& report);
[[nodiscard]] std::string DevicesText(const Report& report);

}  // namespace reprise
