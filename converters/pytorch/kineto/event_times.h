// When an event was, as the file writes it: µs with a fraction, as a number or as text.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "converters/json_members.h"
#include "converters/json_split.h"
#include "converters/json_stream.h"

namespace reprise::pytorch {

// Beyond this a time is damage (3e15 µs are the year 2065); three of them still add up.
inline constexpr std::int64_t kMaxUs = 3'000'000'000'000'000;

// The whole text as µs, exactly, to the nearest ns: "1700000000000100.7", "1.7e15", "-3". Nothing
// if it is no number, or is beyond kMaxUs.
[[nodiscard]] std::optional<std::int64_t> ParseMicroseconds(std::string_view text);

// Where the digits of an event's times are, for those that a double does not hold.
struct RawNumbers {
  ElementPlaces& places;
  std::size_t index = 0;  // of the event
  [[nodiscard]] std::string_view Text(std::string_view member) const {
    return MemberText(places.Text(index), member);
  }
};

// A time in ns. `raw` is asked where a double does not resolve 1 ns (PyTorch 2.3 and 2.4 write µs
// since the epoch with three decimals).
[[nodiscard]] std::optional<std::int64_t> ReadMicroseconds(const JsonMember& value,
                                                           std::string_view name,
                                                           const RawNumbers& raw);

struct EventSpan {
  std::int64_t start_ns = 0, end_ns = 0;
};
// "ts" and "dur". Nothing: it has no times.
[[nodiscard]] std::optional<EventSpan> ReadSpan(const JsonMember& start, const JsonMember& duration,
                                                const RawNumbers& raw);

}  // namespace reprise::pytorch
