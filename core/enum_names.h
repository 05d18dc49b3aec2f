// Enumerations by name: a table of the names beside the enumeration, in the order of its values.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace reprise {

// The table; empty for what has none.
template <typename Enum>
inline constexpr std::array<std::string_view, 0> kNamesOf;

// REPRISE_NAMES(Phase, "forward", "backward", …), after the enumeration.
#define REPRISE_NAMES(Enum, ...) \
  template <>                    \
  inline constexpr auto kNamesOf<Enum> = std::to_array<std::string_view>({__VA_ARGS__})

template <typename Enum>
concept HasNames = !kNamesOf<Enum>.empty();

template <HasNames Enum>
[[nodiscard]] constexpr std::string_view Name(Enum value) {
  return kNamesOf<Enum>.at(static_cast<std::size_t>(value));
}

// Nothing if the text is none of the names.
template <HasNames Enum>
[[nodiscard]] constexpr std::optional<Enum> ParseName(std::string_view text) {
  const auto& names = kNamesOf<Enum>;
  const auto* const found = std::find(names.begin(), names.end(), text);
  return found == names.end() ? std::nullopt
                              : std::optional(static_cast<Enum>(found - names.begin()));
}

}  // namespace reprise
