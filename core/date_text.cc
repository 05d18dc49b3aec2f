#include "core/date_text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

namespace reprise {

std::string DateText(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm utc{};
  return gmtime_r(&time, &utc) == nullptr ? fmt::format("{} s since the epoch", seconds)
                                          : fmt::format("{:%Y-%m-%d %H:%M:%S}", utc);
}

}  // namespace reprise
