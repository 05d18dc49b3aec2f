// reprise generate --grid: every row of a grid as a folded set, and an index of them.
#pragma once

#include <string>

#include "core/result.h"

namespace reprise {

struct GridFlags {
  std::string name, hardware;
  bool index_only = false;  // no sets
};

// Into the directory `output`. Rows that break a rule stand in the index with the reason: that is
// no error.
[[nodiscard]] Status GenerateGrid(const GridFlags& flags, const std::string& output, bool force,
                                  bool json);

}  // namespace reprise
