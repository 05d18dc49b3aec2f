// Figures of a study's grid: its rows, drawn as `compare --figure` draws runs. All of them on one
// page, one section for each model and figure.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/result.h"

namespace reprise {

inline constexpr std::array kSweepFigures = {"parallelism", "optimizations", "microbatch"};

// The page's data, as JSON: `title`, `warnings`, and `parts`, each a comparison (as ComparisonJson
// writes it) with its `title`, `figure` and `notes`. `rows` are an array with the keys of
// docs/simulation.md; rows without a prediction are left out. `figures` of kSweepFigures; empty:
// all three. Usage error: no such figure, or the rows are not a grid's.
[[nodiscard]] Result<std::string> SweepFiguresJson(const std::string& title,
                                                   const nlohmann::ordered_json& rows,
                                                   const std::vector<std::string>& figures = {});

// The same of a sweep's table on disk. Bad input: no table of a sweep that can be read.
[[nodiscard]] Result<std::string> ReadSweepFigures(const std::string& directory,
                                                   const std::vector<std::string>& figures);

}  // namespace reprise
