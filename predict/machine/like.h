// A machine file that says only in what its machine differs from a built-in one.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/result.h"

namespace reprise {

// The file with all that the built-in machine of its member `like` has and it does not; without
// `like` as it is. A number replaces the other's whole, null removes it, lists replace lists; name
// and about are the file's own. Where the file names another device, what was measured on the other
// or fitted to it is a default here, and says so; what it is recorded as and its fits stay behind.
// Bad input, beginning with `origin`: no built-in machine, null for what is not there.
[[nodiscard]] Result<nlohmann::ordered_json> WithLike(nlohmann::ordered_json json,
                                                      const std::string& origin);

}  // namespace reprise
