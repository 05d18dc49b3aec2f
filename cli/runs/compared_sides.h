// What a comparison is given on the command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "report/compare/compared.h"

namespace reprise {

struct GivenSide {
  std::string label;
  std::vector<std::string> paths;  // one or more: repeats
};

// Each text is PATH, LABEL=PATH, LABEL=PATH,PATH,… or a directory whose directories are runs or
// trace sets (repeats, in order of their names). Labels default to the shortest ends of the paths
// that distinguish the sides, with a number where none does.
[[nodiscard]] std::vector<GivenSide> ParseSides(const std::vector<std::string>& texts);

// What of each side is read.
enum class ReadOf : std::uint8_t {
  kReports,     // analyses alone
  kOperations,  // operations too, of all ranks and steps
  kCommon,      // both, of the ranks and steps that all sides have
};

// Sides of runs and trace sets. Reads and analyses every one; no records are kept in memory. Bad
// input: no rank is in all of them.
[[nodiscard]] Result<std::vector<ComparedSide>> ReadSides(const std::vector<GivenSide>& given,
                                                          ReadOf what);

}  // namespace reprise
