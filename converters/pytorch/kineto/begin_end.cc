#include "converters/pytorch/kineto/begin_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace reprise::pytorch {
namespace {

constexpr std::int64_t kOpenNs = INT64_MIN;

std::int64_t& EndOf(const EventHalf& half, KinetoTrace& trace, std::vector<OtherEvent>& others) {
  switch (half.list) {
    case EventHalf::List::kModules:
      return trace.modules[half.index].end_ns;
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

// Ends the slices of which both halves are there, and removes them from the halves.
void JoinSlices(std::vector<EventHalf>& halves, KinetoTrace& trace,
                std::vector<OtherEvent>& others) {
  std::unordered_map<std::int64_t, std::size_t> begins;
  for (std::size_t i = 0; i < halves.size(); ++i) {
    if (halves[i].begins && halves[i].slice >= 0) {
      begins.try_emplace(halves[i].slice, i);
    }
  }
  if (begins.empty()) {
    return;
  }
  std::vector<bool> joined(halves.size());
  for (std::size_t i = 0; i < halves.size(); ++i) {
    const EventHalf& end = halves[i];
    const auto found = end.begins ? begins.end() : begins.find(end.slice);
    if (found == begins.end() || halves[found->second].at_ns > end.at_ns) {
      continue;
    }
    const EventHalf& begin = halves[found->second];
    if (begin.list != EventHalf::List::kNone) {
      EndOf(begin, trace, others) = end.at_ns;
    }
    joined[i] = joined[found->second] = true;
    begins.erase(found);
  }
  std::size_t i = 0;
  std::erase_if(halves, [&](const EventHalf&) { return joined[i++]; });
}

}  // namespace

void JoinHalves(const std::string& path, std::vector<EventHalf>& halves, KinetoTrace& trace,
                std::vector<OtherEvent>& others, Diagnostics& diagnostics) {
  if (halves.empty()) {
    return;
  }
  JoinSlices(halves, trace, others);
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
  std::erase_if(trace.modules, [](const auto& call) { return call.end_ns == kOpenNs; });
  std::erase_if(trace.device.calls, [](const auto& call) { return call.end_ns == kOpenNs; });
  std::erase_if(trace.device.events, [](const auto& event) { return event.end_ns == kOpenNs; });
  std::erase_if(others, [](const auto& other) { return other.event.end_ns == kOpenNs; });
}

}  // namespace reprise::pytorch
