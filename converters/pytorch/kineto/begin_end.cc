#include "converters/pytorch/kineto/begin_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace reprise::pytorch {
namespace {

constexpr std::int64_t kOpenNs = INT64_MIN;

std::int64_t& EndOf(const EventHalf& half, KinetoTrace& trace, std::vector<OtherEvent>& others) {
  switch (half.list) {
    case EventHalf::List::kCalls:
      return trace.device.calls[half.index].end_ns;
    case EventHalf::List::kDevice:
      return trace.device.events[half.index].end_ns;
    case EventHalf::List::kOthers:
      return others[half.index].event.end_ns;
    default:
      return trace.events[half.index].end_ns;
  }
}

}  // namespace

void JoinHalves(const std::string& path, std::vector<EventHalf>& halves, KinetoTrace& trace,
                std::vector<OtherEvent>& others, Diagnostics& diagnostics) {
  if (halves.empty()) {
    return;
  }
  std::stable_sort(halves.begin(), halves.end(), [](const EventHalf& a, const EventHalf& b) {
    return std::pair(a.row, a.at_ns) < std::pair(b.row, b.at_ns);
  });
  const auto damaged = [&](const EventHalf& half, const char* what) {
    diagnostics.Count("kineto_event_without_time",
                      fmt::format("{}: {} at {} us", path, what, half.at_ns / 1000));
  };
  std::vector<EventHalf> open;
  const auto drop_open = [&] {
    for (const EventHalf& half : open) {
      if (half.list != EventHalf::List::kNone) {
        EndOf(half, trace, others) = kOpenNs;
        damaged(half, "a begin (B) without its end");
      }
    }
    open.clear();
  };
  for (const EventHalf& half : halves) {
    if (!open.empty() && open.back().row != half.row) {
      drop_open();
    }
    if (half.begins) {
      open.push_back(half);
    } else if (open.empty()) {
      damaged(half, "an end (E) without its begin");
    } else {
      if (open.back().list != EventHalf::List::kNone) {
        EndOf(open.back(), trace, others) = half.at_ns;
      }
      open.pop_back();
    }
  }
  drop_open();
  halves.clear();
  std::erase_if(trace.events, [](const auto& event) { return event.end_ns == kOpenNs; });
  std::erase_if(trace.device.calls, [](const auto& call) { return call.end_ns == kOpenNs; });
  std::erase_if(trace.device.events, [](const auto& event) { return event.end_ns == kOpenNs; });
  std::erase_if(others, [](const auto& other) { return other.event.end_ns == kOpenNs; });
}

}  // namespace reprise::pytorch
