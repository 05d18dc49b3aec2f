// What texts of a placement a set may hold that is to be shared: one answer for what anonymize
// writes and what audit allows.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/text.h"

namespace reprise {

// A host in place of its name: "host0".
[[nodiscard]] inline std::string NumberedHost(std::size_t number) {
  return "host" + std::to_string(number);
}
[[nodiscard]] inline bool IsNumberedHost(std::string_view text) {
  constexpr std::string_view kHost = "host";
  return text.starts_with(kHost) && IsNumber(text.substr(kHost.size()));
}
// NUMA nodes ("0-1,3") or a kind of link.
[[nodiscard]] inline bool IsPlacementText(std::string_view text) {
  return text.find_first_not_of("0123456789,-") == std::string_view::npos || text == "nvlink" ||
         text == "xgmi";
}

}  // namespace reprise
