// Files of this folder that the program carries: public_names.txt.
#pragma once

#include <span>
#include <string_view>

namespace reprise {

struct EmbeddedText {
  std::string_view name;  // "public_names.txt"
  std::string_view text;
};

// Defined in the file that CMake generates (cmake/embed.cmake).
[[nodiscard]] std::span<const EmbeddedText> EmbeddedTexts();

}  // namespace reprise
