// Dates as messages have them.
#pragma once

#include <cstdint>
#include <string>

namespace reprise {

// "2026-11-21 02:20:06" of seconds since 1970, without a time zone.
[[nodiscard]] std::string DateText(std::int64_t seconds);

}  // namespace reprise
