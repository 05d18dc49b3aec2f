// Where an output file goes.
#pragma once

#include <string>

#include "core/result.h"

namespace reprise {

// Creates the directory of `path` and those above it where they are missing.
[[nodiscard]] Status CreateParents(const std::string& path);

}  // namespace reprise
