// The runs that a comparison is given on the command line.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "report/compare/compare.h"

namespace reprise {

// Each text is RUN, LABEL=RUN, LABEL=RUN,RUN,… or a directory whose directories are runs (repeats,
// in order of their names). Labels default to the shortest ends of the paths that tell the sides
// apart. Reads and analyses every run; only the analysis is kept in memory.
[[nodiscard]] Result<std::vector<ComparedSide>> ReadSides(const std::vector<std::string>& texts);

}  // namespace reprise
