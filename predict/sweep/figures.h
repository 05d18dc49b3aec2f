// Figures of a sweep: its rows, drawn as `compare --figure` draws runs. All of them on one page, a
// section for each model and figure.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/result.h"
#include "predict/sweep/table.h"

namespace reprise {

// By layout; by setting, as ratios to the first one; over a number that was swept.
inline constexpr std::array kSweepFigures = {"parallelism", "optimizations", "microbatch"};

// The page's data, as JSON: `title`, `warnings`, and `parts`, each a comparison
// (docs/comparisons.md) with its `title`, `figure` and `notes`. Rows without a prediction are left
// out. `figures` of kSweepFigures; empty: those that the sweep has something for. Usage error: no
// such figure.
[[nodiscard]] Result<std::string> SweepFiguresJson(const SweepTable& table,
                                                   const std::vector<std::string>& figures = {});

// The same of a sweep's table on disk. Bad input: no table of a sweep that can be read.
[[nodiscard]] Result<std::string> ReadSweepFigures(const std::string& directory,
                                                   const std::vector<std::string>& figures);

}  // namespace reprise
