// Events whose times were lost: 0 among times of today, or years beside all others.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "converters/pytorch/kineto/event_times.h"

namespace reprise::pytorch {

// When the events of a file can have been, in its own times; all time where none is out of place.
struct FileSpan {
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::min();
  std::int64_t last_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_end_ns = std::numeric_limits<std::int64_t>::max();
  [[nodiscard]] bool Holds(const EventSpan& event) const {
    return event.start_ns >= first_ns && event.start_ns <= last_ns && event.end_ns <= last_end_ns;
  }
  [[nodiscard]] bool IsAllTime() const {
    return first_ns == std::numeric_limits<std::int64_t>::min();
  }
};

// Of all events of a file (their order is changed). All but one, or three quarters of
// them, are in the span. What is not:
// - starts at 0 or before, where the others follow after more than 1 s and more than their own
// span;
// - starts and ends apart from the others by more than 1,000 times their span and 10 minutes,
// starts
//   also by more than 10,000 times and a minute. Time in which an event runs is no gap.
[[nodiscard]] FileSpan FindFileSpan(std::vector<EventSpan>& events);

}  // namespace reprise::pytorch
