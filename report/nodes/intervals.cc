#include "report/nodes/intervals.h"

#include <algorithm>
#include <cstddef>

namespace reprise {

std::vector<Interval> Union(std::vector<Interval> intervals) {
  if (!std::ranges::is_sorted(intervals)) {  // those of one stream mostly are
    std::ranges::sort(intervals);
  }
  std::size_t kept = 0;
  for (const Interval& interval : intervals) {
    if (kept > 0 && interval.first <= intervals[kept - 1].second) {
      intervals[kept - 1].second = std::max(intervals[kept - 1].second, interval.second);
    } else if (interval.second > interval.first) {
      intervals[kept++] = interval;
    }
  }
  intervals.resize(kept);
  return intervals;
}

std::vector<Interval> Union(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::vector<Interval> both(a.size() + b.size());
  std::ranges::merge(a, b, both.begin());
  return Union(std::move(both));
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
