#include "et_schema/range_lists.h"

#include <algorithm>
#include <map>

namespace reprise {
namespace {

constexpr std::size_t kNumbers = 5;

}  // namespace

RangeLists ListsOf(const std::vector<Range>& ranges) {
  RangeLists lists;
  std::map<std::string, std::int64_t> index;
  for (const Range& range : ranges) {
    const auto [at, added] =
        index.try_emplace(range.name, static_cast<std::int64_t>(lists.names.size()));
    if (added) {
      lists.names.push_back(range.name);
    }
    lists.numbers.insert(lists.numbers.end(),
                         {at->second, range.thread, range.start_ns, range.duration_ns, range.step});
  }
  return lists;
}

std::vector<Range> RangesOf(const RangeLists& lists) {
  std::vector<Range> ranges;
  const auto& numbers = lists.numbers;
  const std::size_t end = std::min(numbers.size(), kNumbers * kMaxRanges);
  for (std::size_t i = 0; i + kNumbers <= end; i += kNumbers) {
    const auto name = static_cast<std::uint64_t>(numbers[i]);
    if (name < lists.names.size() && lists.names[name].size() <= kLongestRangeName) {
      ranges.push_back({.name = lists.names[name],
                        .thread = numbers[i + 1],
                        .start_ns = numbers[i + 2],
                        .duration_ns = numbers[i + 3],
                        .step = static_cast<std::int32_t>(numbers[i + 4])});
    }
  }
  return ranges;
}

}  // namespace reprise
