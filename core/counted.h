// A number and what it counts, as messages say it.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace reprise {

// "1 rank", "0 ranks", "2 classes", "3 micro-batches". `noun` is English and has a regular plural.
template <typename Number>
[[nodiscard]] std::string Counted(Number number, std::string_view noun) {
  const bool hisses = noun.ends_with('s') || noun.ends_with("ch");
  return fmt::format("{} {}{}", number, noun, number == Number{1} ? "" : hisses ? "es" : "s");
}

}  // namespace reprise
