// Keys and numbers as protobuf's JSON has them.
#pragma once

#include <simdjson.h>

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/text.h"

namespace reprise::chakra {

// "dataDeps", "data_deps" and "DataDeps" → "datadeps".
inline std::string Normal(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c != '_') {
      out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  return out;
}

// protobuf writes 64-bit integers as text.
template <typename T>
std::optional<T> Integer(simdjson::dom::element value) {
  T out{};
  std::string_view text;
  if (value.get(out) == simdjson::SUCCESS) {
    return out;
  }
  if (value.get(text) == simdjson::SUCCESS) {
    return ParseNumber<T>(text);
  }
  constexpr double kExact = 9007199254740992.0;  // 2^53
  double real = 0;
  if (value.get(real) == simdjson::SUCCESS && std::abs(real) <= kExact &&
      real == std::trunc(real) && (real >= 0 || std::is_signed_v<T>)) {
    return static_cast<T>(real);
  }
  return std::nullopt;
}

}  // namespace reprise::chakra
