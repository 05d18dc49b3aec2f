// Integer nanoseconds from factors and models that may be of any size.
#pragma once

#include <cmath>
#include <cstdint>

namespace reprise {

// 11 days: nothing that is replayed or predicted lasts longer. Some thousand such times add up
// without an overflow; core/timing's CheckTimes refuses more.
inline constexpr std::int64_t kLongestNs = 1'000'000'000'000'000;
// What stands for a time that is longer, or no number at all.
inline constexpr std::int64_t kTooLongNs = kLongestNs + 1;

// The nearest integer; kTooLongNs for NaN and for what is out of range on either side, so that
// nothing that lasts for ever counts as nothing.
[[nodiscard]] inline std::int64_t NsOf(double ns) {
  const bool fits = ns > -static_cast<double>(kLongestNs) && ns <= static_cast<double>(kLongestNs);
  return fits ? std::llround(ns) : kTooLongNs;
}

}  // namespace reprise
