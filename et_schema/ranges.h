// TraceMetadata::ranges as the lists that files hold: distinct names, and five numbers a range.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "et_schema/node.h"

namespace reprise {

struct RangeLists {
  std::vector<std::string> names;     // distinct
  std::vector<std::int64_t> numbers;  // five each: name (index), thread, start, duration, step
};
[[nodiscard]] RangeLists ListsOf(const std::vector<Range>& ranges);
// What names a missing name, or is no multiple of five, is left out.
[[nodiscard]] std::vector<Range> RangesOf(const RangeLists& lists);

}  // namespace reprise
