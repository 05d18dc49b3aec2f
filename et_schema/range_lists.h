// TraceMetadata::ranges as the lists that files hold: distinct names, and five numbers a range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "et_schema/node.h"

namespace reprise {

// More than a step of anything seen has. Files hold no more, and readers take no more: a damaged
// file must not name one long text a million times.
inline constexpr std::size_t kMaxRanges = 65'536;
inline constexpr std::size_t kLongestRangeName = 1'024;  // bytes

struct RangeLists {
  std::vector<std::string> names;     // distinct
  std::vector<std::int64_t> numbers;  // five each: name (index), thread, start, duration, step
};
[[nodiscard]] RangeLists ListsOf(const std::vector<Range>& ranges);
// What names a missing or too long name, is no multiple of five, or beyond the bound is left out.
[[nodiscard]] std::vector<Range> RangesOf(const RangeLists& lists);

}  // namespace reprise
