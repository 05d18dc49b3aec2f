// Enumerations by name: a table of the names in the order of the values.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace reprise {

template <typename Enum, std::size_t N>
[[nodiscard]] constexpr std::string_view NameIn(const std::array<std::string_view, N>& names,
                                                Enum value) {
  return names.at(static_cast<std::size_t>(value));
}

// Nothing if the text is none of the names.
template <typename Enum, std::size_t N>
[[nodiscard]] constexpr std::optional<Enum> ParseName(const std::array<std::string_view, N>& names,
                                                      std::string_view text) {
  const auto* const found = std::find(names.begin(), names.end(), text);
  return found == names.end() ? std::nullopt
                              : std::optional(static_cast<Enum>(found - names.begin()));
}

}  // namespace reprise
