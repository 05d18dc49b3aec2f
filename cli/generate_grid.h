// reprise generate --grid: every row of a grid as a folded set, and an index of them.
#pragma once

#include <string>

#include "core/result.h"

namespace reprise {

struct GridFlags {
  std::string name, hardware, output;
  bool index_only = false;  // no sets
  bool force = false, json = false;
};

// Rows that break a rule stand in the index with the reason: that is no error.
[[nodiscard]] Status GenerateGrid(const GridFlags& flags);

}  // namespace reprise
