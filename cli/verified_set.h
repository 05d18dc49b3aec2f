// A trace set whose files are as its checksums say.
#pragma once

#include <string>

#include "core/result.h"

namespace reprise {

// For commands whose libraries read all of a set. Bad input: no set, or a file was changed. Sets
// without checksums pass.
[[nodiscard]] Status VerifySet(const std::string& directory);

}  // namespace reprise
