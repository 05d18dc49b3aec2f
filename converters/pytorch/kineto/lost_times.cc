#include "converters/pytorch/kineto/lost_times.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace reprise::pytorch {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

bool StartsBefore(const EventSpan& a, const EventSpan& b) { return a.start_ns < b.start_ns; }

// Between the starts of the middle half; 0 where there are too few events to tell.
std::int64_t SpreadNs(std::vector<EventSpan>& events) {
  constexpr std::size_t kFew = 16;
  if (events.size() < kFew) {
    return 0;
  }
  const auto start_ns = [&](std::size_t i) {
    const auto at = events.begin() + static_cast<std::ptrdiff_t>(i);
    std::nth_element(events.begin(), at, events.end(), StartsBefore);
    return at->start_ns;
  };
  const std::size_t quarter = events.size() / 4;
  return start_ns(events.size() - 1 - quarter) - start_ns(quarter);
}

constexpr std::int64_t kMostSpanNs = INT64_MAX / 20'000;

// The gaps behind which nothing belongs to a file of that span.
std::int64_t LongGapNs(std::int64_t span_ns) {
  return span_ns > kMostSpanNs ? INT64_MAX : std::max(600 * kSecondNs, 1000 * span_ns);
}
std::int64_t GapNs(std::int64_t span_ns) {
  return span_ns > kMostSpanNs
             ? INT64_MAX
             : std::min(LongGapNs(span_ns), std::max(60 * kSecondNs, 10'000 * span_ns));
}

// Indexes of the first and last event, by start, that belong together, from the middle on.
class Majority {
 public:
  Majority(const std::vector<EventSpan>& events, std::int64_t spread_ns)
      : events_(events), spread_ns_(spread_ns), first(events.size() / 2), last(first) {
    std::int64_t until_ns = INT64_MIN;
    for (const EventSpan& event : events) {
      until_ns_.push_back(until_ns = std::max(until_ns, event.end_ns));
    }
    for (bool grew = true; grew;) {
      grew = false;
      while (first > 0 && StartNs(first) - UntilNs(first - 1) <= GapNs(SpanNs())) {
        --first;
        grew = true;
      }
      while (last + 1 < events.size() && StartNs(last + 1) - UntilNs(last) <= GapNs(SpanNs())) {
        ++last;
        grew = true;
      }
    }
    LeaveOutZeros();
  }

  [[nodiscard]] std::int64_t SpanNs() const {
    return std::max(spread_ns_, StartNs(last) - StartNs(first));
  }

 private:
  // Near enough, but at 0 or before while the others are far from it.
  void LeaveOutZeros() {
    std::size_t after = first;
    while (after < last && StartNs(after) <= 0) {
      ++after;
    }
    if (after > first && StartNs(after) - UntilNs(after - 1) > kSecondNs &&
        StartNs(after) - UntilNs(after - 1) > StartNs(last) - StartNs(after)) {
      first = after;
    }
  }
  [[nodiscard]] std::int64_t StartNs(std::size_t i) const { return events_[i].start_ns; }
  // When the last of the events up to this one ended.
  [[nodiscard]] std::int64_t UntilNs(std::size_t i) const { return until_ns_[i]; }

  const std::vector<EventSpan>& events_;
  std::vector<std::int64_t> until_ns_;
  std::int64_t spread_ns_ = 0;

 public:
  std::size_t first = 0, last = 0;
};

}  // namespace

FileSpan FindFileSpan(std::vector<EventSpan>& events) {
  FileSpan out;
  if (events.size() < 3) {
    return out;
  }
  std::int64_t first_ns = INT64_MAX;
  std::int64_t last_ns = INT64_MIN;
  std::int64_t last_end_ns = INT64_MIN;
  for (const EventSpan& event : events) {
    first_ns = std::min(first_ns, event.start_ns);
    last_ns = std::max(last_ns, event.start_ns);
    last_end_ns = std::max(last_end_ns, event.end_ns);
  }
  if (last_end_ns - first_ns <= kSecondNs) {
    return out;
  }
  // The middle half is in the span: most files are done with here.
  const std::int64_t spread_ns = SpreadNs(events);
  if (last_end_ns - first_ns <= GapNs(spread_ns) && !(first_ns <= 0 && last_ns > 2 * spread_ns)) {
    return out;
  }
  std::sort(events.begin(), events.end(), StartsBefore);
  const Majority majority(events, spread_ns);
  const std::size_t count = majority.last + 1 - majority.first;
  const std::size_t most_lost = std::max<std::size_t>(1, events.size() / 4);
  if (events.size() - count > most_lost) {
    return out;  // several recordings in one file
  }
  const std::int64_t most_ns = LongGapNs(majority.SpanNs());
  const std::int64_t end_ns = events[majority.last].start_ns > INT64_MAX - most_ns
                                  ? INT64_MAX
                                  : events[majority.last].start_ns + most_ns;
  const auto late = static_cast<std::size_t>(std::count_if(
      events.begin(), events.end(), [&](const EventSpan& event) { return event.end_ns > end_ns; }));
  if (count == events.size() && late == 0) {
    return out;
  }
  out.first_ns = events[majority.first].start_ns;
  out.last_ns = events[majority.last].start_ns;
  out.last_end_ns = late > most_lost ? INT64_MAX : end_ns;
  return out;
}

}  // namespace reprise::pytorch
