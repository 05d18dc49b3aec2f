#include "report/nodes/intervals.h"

#include <algorithm>

namespace reprise {

std::vector<Interval> Union(std::vector<Interval> intervals) {
  if (!std::ranges::is_sorted(intervals)) {  // those of one stream mostly are
    std::ranges::sort(intervals);
  }
  std::vector<Interval> out;
  for (const auto& [begin_ns, end_ns] : intervals) {
    if (!out.empty() && begin_ns <= out.back().second) {
      out.back().second = std::max(out.back().second, end_ns);
    } else if (end_ns > begin_ns) {
      out.emplace_back(begin_ns, end_ns);
    }
  }
  return out;
}

std::int64_t Length(const std::vector<Interval>& intervals) {
  std::int64_t ns = 0;
  for (const auto& [begin_ns, end_ns] : intervals) {
    ns += end_ns - begin_ns;
  }
  return ns;
}

std::int64_t LengthOutside(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::int64_t ns = Length(a);
  auto at = b.begin();
  for (const auto& [begin_ns, end_ns] : a) {
    while (at != b.end() && at->second <= begin_ns) {
      ++at;
    }
    for (auto other = at; other != b.end() && other->first < end_ns; ++other) {
      ns -= std::min(end_ns, other->second) - std::max(begin_ns, other->first);
    }
  }
  return ns;
}

}  // namespace reprise
