// The checksum of core/checksums.h, of bytes in memory.
#pragma once

#include <string>
#include <string_view>

namespace reprise {

// XXH3-128 as 32 hex digits.
[[nodiscard]] std::string ChecksumOfBytes(std::string_view bytes);

}  // namespace reprise
