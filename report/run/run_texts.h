// Every text that a run's files hold, for whoever looks for what should not be in them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"

namespace reprise {

struct RunText {
  std::string table;  // as in ProvenanceField
  std::string field;  // likewise
  std::string text;
  std::uint64_t count = 0;
};

struct RunTexts {
  std::vector<RunText> texts;
  std::uint64_t files = 0;  // that hold them
};

// Of the manifest and all tables; of numbers those that say where the run was made. Bad input: no
// run, or a damaged one.
[[nodiscard]] Result<RunTexts> ReadTexts(const std::string& directory);

}  // namespace reprise
