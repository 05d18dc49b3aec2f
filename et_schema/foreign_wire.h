// Messages of all of Chakra's schemas → ForeignNode. Only et_schema sees this.
#pragma once

#include <string_view>

#include "et_schema/foreign.h"

namespace reprise {

enum class WireSchema : std::uint8_t { kFirst, kSecond, kThird, kFourth };  // 0.0.1 … 0.0.4

// False: damaged.
[[nodiscard]] bool ParseForeign(std::string_view message, WireSchema schema, ForeignNode& node);
[[nodiscard]] bool ParseForeign(std::string_view message, WireSchema schema, ForeignHeader& header);

}  // namespace reprise
