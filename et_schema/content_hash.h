// Hashes of content, as sets and runs name it.
#pragma once

#include <string>
#include <string_view>

namespace reprise {

// XXH3-128 as 32 hex digits.
[[nodiscard]] std::string HashOfText(std::string_view text);

}  // namespace reprise
