// Parts of the difference between two passes (docs/definitions.md, attribution).
#pragma once

#include <string_view>

namespace reprise {

// What a part that is no class of operations is the time of, by its name: "host_delay". Empty for
// classes.
[[nodiscard]] std::string_view PartMeaning(std::string_view name);

}  // namespace reprise
