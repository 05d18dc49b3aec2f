#include "converters/pytorch/kineto/stream_overlaps.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/counters.h"

namespace reprise::pytorch {
namespace {

using StreamOf = std::pair<std::int32_t, std::int64_t>;  // device, stream

// How far the clocks of host and device may be apart where nothing else contradicts a duration, and
// where it covers other launches' events.
constexpr std::int64_t kFarBeyondWaitNs = 1'000'000;
constexpr std::int64_t kBeyondWaitNs = 100'000;
constexpr std::int64_t kLongerThanAlike = 10;
constexpr std::size_t kMaxLooked = 4'096;  // events after one, in search of what it covers
constexpr std::size_t kMaxBeside = 128;    // a device runs no more kernels at once

std::int64_t LengthOf(const DeviceEvent& event) { return event.end_ns - event.start_ns; }

// When the host has seen everything end that was launched on a stream before a moment.
class HostWaits {
 public:
  void Add(std::int64_t start_ns, std::int64_t end_ns) { waits_.emplace_back(start_ns, end_ns); }
  void Sort() {
    std::sort(waits_.begin(), waits_.end());
    for (std::size_t i = waits_.size(); i-- > 1;) {
      waits_[i - 1].second = std::min(waits_[i - 1].second, waits_[i].second);
    }
  }
  // INT64_MAX: never.
  [[nodiscard]] std::int64_t SeenBy(std::int64_t launched_ns) const {
    const auto it = std::lower_bound(waits_.begin(), waits_.end(),
                                     std::pair(launched_ns, std::int64_t{INT64_MIN}));
    return it == waits_.end() ? INT64_MAX : it->second;
  }

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> waits_;  // start; end, the first from here on
};

// Events whose recorded end cannot be.
class DamagedDurations {
 public:
  DamagedDurations(const std::string& label, std::int64_t host_end_ns, DeviceTrace& trace,
                   Diagnostics& diagnostics)
      : label_(label), host_end_ns_(host_end_ns), trace_(trace), diagnostics_(diagnostics) {
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
      const DeviceEvent& event = trace.events[i];
      streams_[{event.device, event.stream}].push_back(i);
      auto& [longest, second] = alike_[*event.name];
      second = std::max(second, std::min(longest, LengthOf(event)));
      longest = std::max(longest, LengthOf(event));
    }
    for (const RuntimeCall& call : trace.calls) {
      host_end_ns_ = std::max(host_end_ns_, call.end_ns);
      if (call.correlation >= 0) {
        launched_ns_.emplace(call.correlation, call.end_ns);
      }
    }
    FindWaits();
  }

  void Run() {
    std::vector<std::size_t> covering;
    for (const auto& [key, events] : streams_) {
      for (std::size_t at = 0; at < events.size(); ++at) {
        Look(key, events, at, covering);
      }
    }
    CutLastOnes(covering);
  }

 private:
  void FindWaits() {
    std::unordered_map<std::int64_t, const SyncRecord*> syncs;
    for (const SyncRecord& sync : trace_.syncs) {
      syncs.emplace(sync.correlation, &sync);
    }
    for (const RuntimeCall& call : trace_.calls) {
      if (call.kind != RuntimeKind::kDeviceSync && call.kind != RuntimeKind::kStreamSync) {
        continue;
      }
      const auto found = syncs.find(call.correlation);
      const SyncRecord* sync = found == syncs.end() ? nullptr : found->second;
      if (call.kind == RuntimeKind::kDeviceSync) {
        if (sync != nullptr || OneDevice()) {
          device_waits_[sync != nullptr ? sync->device : streams_.begin()->first.first].Add(
              call.start_ns, call.end_ns);
        }
      } else if (sync != nullptr || streams_.size() == 1) {
        stream_waits_[sync != nullptr ? StreamOf(sync->device, sync->stream)
                                      : streams_.begin()->first]
            .Add(call.start_ns, call.end_ns);
      }
    }
    for (auto& [key, waits] : device_waits_) {
      waits.Sort();
    }
    for (auto& [key, waits] : stream_waits_) {
      waits.Sort();
    }
  }

  [[nodiscard]] bool OneDevice() const {
    return !streams_.empty() && streams_.begin()->first.first == streams_.rbegin()->first.first;
  }

  // Whether an event of another launch ran from start to end while this one is said to run. Kernels
  // of one graph may; others of a stream begin early at most.
  [[nodiscard]] bool CoversAnotherLaunch(const std::vector<std::size_t>& events,
                                         std::size_t at) const {
    const DeviceEvent& event = trace_.events[events[at]];
    const std::size_t last = std::min(events.size(), at + 1 + kMaxLooked);
    for (std::size_t i = at + 1; i < last; ++i) {
      const DeviceEvent& other = trace_.events[events[i]];
      if (other.start_ns >= event.end_ns) {
        return false;
      }
      const bool one_launch =
          event.work.correlation >= 0 && other.work.correlation == event.work.correlation;
      if (!one_launch && other.end_ns < event.end_ns && LengthOf(other) > 0) {
        return true;
      }
    }
    return false;
  }

  void Look(const StreamOf& key, const std::vector<std::size_t>& events, std::size_t at,
            std::vector<std::size_t>& covering) {
    const DeviceEvent& event = trace_.events[events[at]];
    const std::int64_t next_ns =
        at + 1 < events.size() ? trace_.events[events[at + 1]].start_ns : INT64_MAX;
    const std::int64_t seen_ns = SeenToEnd(key, event);
    const bool covers = next_ns < event.end_ns && CoversAnotherLaunch(events, at);
    const std::int64_t beyond_ns = seen_ns < event.end_ns ? event.end_ns - seen_ns : 0;
    // What covers nothing is contradicted by a wait only if it outlasts all else in the file: one
    // wait may have been of other work.
    const bool alone = next_ns == INT64_MAX && event.end_ns > host_end_ns_;
    const bool contradicted = covers ? beyond_ns > kBeyondWaitNs
                                     : alone && beyond_ns > kFarBeyondWaitNs &&
                                           seen_ns > event.start_ns &&
                                           beyond_ns > LengthOf(event) / 10 * 9;
    if (contradicted || (covers && MuchLongerThanAlike(event))) {
      Cut(events[at], std::min(next_ns, seen_ns));
    } else if (covers) {
      covering.push_back(events[at]);
      next_ns_[events[at]] = next_ns;
    }
  }

  [[nodiscard]] std::int64_t SeenToEnd(const StreamOf& key, const DeviceEvent& event) const {
    const auto launched = launched_ns_.find(event.work.correlation);
    const std::int64_t from_ns = launched == launched_ns_.end() ? event.start_ns : launched->second;
    const auto device = device_waits_.find(key.first);
    const auto stream = stream_waits_.find(key);
    return std::min(device == device_waits_.end() ? INT64_MAX : device->second.SeenBy(from_ns),
                    stream == stream_waits_.end() ? INT64_MAX : stream->second.SeenBy(from_ns));
  }

  // What transfers take depends on other ranks.
  [[nodiscard]] bool MuchLongerThanAlike(const DeviceEvent& event) const {
    const auto& [longest, second] = alike_.at(*event.name);
    const std::int64_t other = LengthOf(event) == longest ? second : longest;
    return event.comm == nullptr && event.name->find("nccl") == std::string::npos && other > 0 &&
           LengthOf(event) / kLongerThanAlike > other;
  }

  // What covers others and, for most of its time, is alone with the end of the file.
  void CutLastOnes(const std::vector<std::size_t>& covering) {
    if (covering.empty()) {
      return;
    }
    std::vector<std::size_t> by_end(trace_.events.size());
    for (std::size_t i = 0; i < by_end.size(); ++i) {
      by_end[i] = i;
    }
    std::sort(by_end.begin(), by_end.end(), [&](std::size_t a, std::size_t b) {
      return trace_.events[a].end_ns < trace_.events[b].end_ns;
    });
    while (!by_end.empty()) {
      const std::size_t last = by_end.back();
      by_end.pop_back();
      const auto next = next_ns_.find(last);
      const DeviceEvent& event = trace_.events[last];
      const std::int64_t others_ns =
          by_end.empty() ? host_end_ns_
                         : std::max(host_end_ns_, trace_.events[by_end.back()].end_ns);
      if (next == next_ns_.end() || event.end_ns - others_ns <= LengthOf(event) / 2) {
        return;
      }
      Cut(last, next->second);
    }
  }

  void Cut(std::size_t e, std::int64_t end_ns) {
    DeviceEvent& event = trace_.events[e];
    end_ns = std::max(event.start_ns, end_ns);
    CountTime("duration_damaged", event.end_ns - end_ns, diagnostics_,
              fmt::format("{}: {} on stream {}: {} ns recorded, {} ns taken", label_, *event.name,
                          event.stream, LengthOf(event), end_ns - event.start_ns));
    event.end_ns = end_ns;
  }

  const std::string& label_;
  std::int64_t host_end_ns_;
  DeviceTrace& trace_;
  Diagnostics& diagnostics_;
  std::map<StreamOf, std::vector<std::size_t>> streams_;
  std::map<std::int32_t, HostWaits> device_waits_;
  std::map<StreamOf, HostWaits> stream_waits_;
  std::unordered_map<std::int64_t, std::int64_t> launched_ns_;  // by correlation: the call's end
  std::unordered_map<std::size_t, std::int64_t> next_ns_;       // of events that cover others
  // By name, the longest two.
  std::unordered_map<std::string_view, std::pair<std::int64_t, std::int64_t>> alike_;
};

bool InWholeMicroseconds(const std::vector<DeviceEvent>& events) {
  return std::all_of(events.begin(), events.end(), [&](const DeviceEvent& event) {
    return (event.start_ns - events.front().start_ns) % kNsPerUs == 0 &&
           LengthOf(event) % kNsPerUs == 0;
  });
}

// In files with whole µs an event may seem to begin in the last µs of the one before.
void MoveRoundedStarts(const std::string& label, bool rounded, DeviceTrace& trace,
                       Diagnostics& diagnostics) {
  std::map<StreamOf, std::vector<std::int64_t>> running;  // ends, as far as they matter
  for (DeviceEvent& event : trace.events) {
    auto& ends = running[{event.device, event.stream}];
    std::erase_if(ends, [&](std::int64_t end_ns) { return end_ns <= event.start_ns; });
    std::int64_t moved_ns = event.start_ns;
    for (const std::int64_t end_ns : ends) {
      if (rounded && end_ns - event.start_ns <= kNsPerUs) {
        moved_ns = std::max(moved_ns, end_ns);
      }
    }
    if (moved_ns > event.start_ns) {
      CountTime("stream_overlap", std::min(moved_ns, event.end_ns) - event.start_ns, diagnostics,
                fmt::format("{}: {} on stream {} by {} ns", label, *event.name, event.stream,
                            moved_ns - event.start_ns));
      event.start_ns = moved_ns;
      event.end_ns = std::max(event.end_ns, moved_ns);
      std::erase_if(ends, [&](std::int64_t end_ns) { return end_ns <= moved_ns; });
    }
    if (!ends.empty()) {
      diagnostics.Count("runs_beside_others",
                        fmt::format("{}: {} on stream {}", label, *event.name, event.stream));
    }
    if (ends.size() == kMaxBeside) {
      ends.erase(ends.begin());
    }
    ends.push_back(event.end_ns);
  }
}

}  // namespace

void SettleStreams(const std::string& label, std::int64_t host_end_ns, DeviceTrace& trace,
                   Diagnostics& diagnostics) {
  const bool rounded = InWholeMicroseconds(trace.events);
  DamagedDurations(label, host_end_ns, trace, diagnostics).Run();
  MoveRoundedStarts(label, rounded, trace, diagnostics);
  std::stable_sort(
      trace.events.begin(), trace.events.end(),
      [](const DeviceEvent& a, const DeviceEvent& b) { return a.start_ns < b.start_ns; });
}

}  // namespace reprise::pytorch
