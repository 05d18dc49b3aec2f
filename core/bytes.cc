#include "core/bytes.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <limits>

namespace reprise {
namespace {

constexpr std::string_view kUnits = "KMGT";

}  // namespace

std::optional<std::int64_t> ParseBytes(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) {
    return std::nullopt;
  }
  std::string unit;
  for (const char c : text.substr(static_cast<std::size_t>(end - text.data()))) {
    unit += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  if (unit.empty() || unit == "B") {
    return number;
  }
  const std::size_t power = kUnits.find(unit.front());
  const std::string rest = unit.substr(1);
  if (power == std::string_view::npos || (!rest.empty() && rest != "B" && rest != "IB")) {
    return std::nullopt;
  }
  const int shift = 10 * (static_cast<int>(power) + 1);
  if (number > (std::numeric_limits<std::int64_t>::max() >> shift)) {
    return std::nullopt;
  }
  return number << shift;
}

std::string ShowBytes(std::int64_t bytes) {
  std::size_t power = 0;
  while (power < kUnits.size() && bytes > 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++power;
  }
  return std::to_string(bytes) + (power == 0 ? "" : std::string(1, kUnits[power - 1]) + "iB");
}

std::string SizeText(std::int64_t bytes) {
  constexpr std::array kSizeUnits = {"B", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < kSizeUnits.size(); ++unit) {
    value /= 1000;
  }
  return unit == 0 ? fmt::format("{} B", bytes)
                   : fmt::format("{:.2f} {}", value, kSizeUnits.at(unit));
}

}  // namespace reprise
