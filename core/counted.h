// Numbers before nouns.
#pragma once

#include <string>
#include <string_view>

namespace reprise {

// "1 rank", "0 ranks", "3 ranks"; "2 classes" with "es" as the ending of many.
[[nodiscard]] inline std::string Counted(auto count, std::string_view noun,
                                         std::string_view many = "s") {
  std::string text = std::to_string(count) + " " + std::string(noun);
  return count == 1 ? text : text + std::string(many);
}

}  // namespace reprise
