// The runs that a comparison is given on the command line.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "report/compare/compare_runs.h"

namespace reprise {

struct GivenSide {
  std::string label;
  std::vector<std::string> paths;  // one or more: repeats
};

// Each text is PATH, LABEL=PATH, LABEL=PATH,PATH,… or a directory whose directories are runs or
// trace sets (repeats, in order of their names). Labels default to the shortest ends of the paths
// that distinguish the sides, with a number where none does.
[[nodiscard]] std::vector<GivenSide> ParseSides(const std::vector<std::string>& texts);

// A run with the path that outputs show: of one without provenance the last name.
[[nodiscard]] ComparedRun AsShown(const std::string& path, Report report);
// The same of a trace set: of an anonymized one the last name.
[[nodiscard]] std::string SetPathAsShown(const std::string& path);

// Sides of runs. Reads and analyses every run; only the analysis is kept in memory.
[[nodiscard]] Result<std::vector<ComparedSide>> ReadSides(const std::vector<GivenSide>& given);

}  // namespace reprise
