#include "converters/pytorch/kineto/event_times.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/clock.h"
#include "core/text.h"

namespace reprise::pytorch {
namespace {

// From 2^43 µs on (102 days), neighbouring doubles are 2 ns apart and more.
constexpr double kExactUs = 8'796'093'022'208.0;

}  // namespace

std::optional<std::int64_t> ParseMicroseconds(std::string_view text) {
  while (!text.empty() && IsJsonSpace(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && IsJsonSpace(text.back())) {
    text.remove_suffix(1);
  }
  const bool negative = text.starts_with('-');
  text.remove_prefix(negative || text.starts_with('+') ? 1 : 0);
  const std::size_t mark = std::min(text.find_first_of("eE"), text.size());
  std::int64_t exponent = 0;
  if (mark < text.size()) {
    std::string_view shift = text.substr(mark + 1);
    shift.remove_prefix(shift.starts_with('+') ? 1 : 0);
    const auto parsed = ParseNumber<std::int32_t>(shift);
    if (!parsed) {
      return std::nullopt;
    }
    exponent = *parsed;
  }
  std::string_view digits = text.substr(0, mark);
  const std::size_t point = std::min(digits.find('.'), digits.size());
  std::string all(digits.substr(0, point));
  all += digits.substr(std::min(digits.size(), point + 1));
  if (!IsNumber(all)) {
    return std::nullopt;
  }
  const std::size_t leading = std::min(all.find_first_not_of('0'), all.size());
  // Digits of whole ns: those before the point, and three more.
  const std::int64_t whole =
      static_cast<std::int64_t>(point) - static_cast<std::int64_t>(leading) + exponent + 3;
  all.erase(0, leading);
  constexpr std::int64_t kMostDigits = 19;  // of kMaxUs in ns
  if (all.empty() || whole < 0) {
    return 0;
  }
  if (whole > kMostDigits) {
    return std::nullopt;
  }
  const auto count = static_cast<std::size_t>(whole);
  std::uint64_t ns = 0;
  for (std::size_t i = 0; i < count; ++i) {
    ns = ns * 10 + (i < all.size() ? static_cast<std::uint64_t>(all[i] - '0') : 0);
  }
  ns += count < all.size() && all[count] >= '5' ? 1 : 0;
  if (ns >= static_cast<std::uint64_t>(kMaxUs) * static_cast<std::uint64_t>(kNsPerUs)) {
    return std::nullopt;
  }
  return negative ? -static_cast<std::int64_t>(ns) : static_cast<std::int64_t>(ns);
}

std::optional<std::int64_t> ReadMicroseconds(const JsonMember& value, std::string_view name,
                                             const RawNumbers& raw) {
  std::int64_t whole = 0;
  if (value.get(whole) == simdjson::SUCCESS && whole > -kMaxUs && whole < kMaxUs) {
    return whole * kNsPerUs;
  }
  double us = 0;
  if (value.get(us) != simdjson::SUCCESS) {
    std::string_view text;
    return value.get(text) == simdjson::SUCCESS ? ParseMicroseconds(text) : std::nullopt;
  }
  if (!(std::abs(us) < static_cast<double>(kMaxUs))) {  // nor NaN
    return std::nullopt;
  }
  if (std::abs(us) >= kExactUs) {
    if (const auto exact = ParseMicroseconds(raw.Text(name))) {
      return exact;
    }
  }
  return std::llround(us * static_cast<double>(kNsPerUs));
}

std::optional<EventSpan> ReadSpan(const JsonMember& start, const JsonMember& duration,
                                  const RawNumbers& raw) {
  const auto start_ns = ReadMicroseconds(start, "ts", raw);
  const auto duration_ns = start_ns ? ReadMicroseconds(duration, "dur", raw) : std::nullopt;
  if (!duration_ns || *duration_ns < 0) {
    return std::nullopt;
  }
  return EventSpan{*start_ns, *start_ns + *duration_ns};
}

}  // namespace reprise::pytorch
