// What waits between streams, and of the host for the device, were for.
//
// CUPTI's cuda_sync events record it. Without them there are only the calls, without ids
// ("cudaStreamWaitEvent"), and order and thread must decide:
// - the stream that waits is the one on which the thread launches next, or, if another thread comes
//   first, the one that the thread used last;
// - a collective waits for the stream that the thread used before, as it stood;
// - any other waits for the other stream whose last work ended latest before it started: an earlier
//   one would not have made a difference.
// What was launched before the recording began has no calls at all: there only time decides. If its
// stream was quiet and it starts when something on another one has just ended, it waited for that.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "converters/pytorch/rank/nccl.h"
#include "converters/pytorch/rank/stages.h"

namespace reprise::pytorch {
namespace {

using StreamKey = std::pair<std::int32_t, std::int64_t>;  // device, stream

// A stream that is idle for longer waits for something: launch → start on an idle stream was seen
// to take 6 to 16 µs (median), and after another stream's end up to 19 µs.
constexpr std::int64_t kQuietNs = 50'000;

class SourceFinder {
 public:
  explicit SourceFinder(RankCapture& rank)
      : rank_(rank), device_(rank.kineto.device), links_(rank.links) {
    for (std::size_t i = 0; i < device_.syncs.size(); ++i) {
      syncs_.emplace(device_.syncs[i].correlation, i);
    }
    for (std::size_t i = 0; i < device_.calls.size(); ++i) {
      by_correlation_.emplace(device_.calls[i].correlation, i);
    }
    for (std::size_t i = 0; i < device_.events.size(); ++i) {
      Stream& stream = streams_[KeyOf(i)];
      const std::int64_t before =
          stream.enqueued_ns.empty() ? INT64_MIN : stream.enqueued_ns.back();
      stream.events.push_back(static_cast<std::int32_t>(i));
      stream.enqueued_ns.push_back(std::max(before, EnqueuedAt(i)));
    }
  }

  void Run() {
    for (std::size_t c = 0; c < device_.calls.size(); ++c) {
      const RuntimeCall& call = device_.calls[c];
      Thread& thread = threads_[call.thread];
      if (call.kind == RuntimeKind::kStreamWait) {
        if (!RecordedStreamWait(c)) {
          thread.waits.push_back(c);
        }
      } else if (IsHostWait(call.kind)) {
        HostWait(c, thread);
      } else if (call.kind == RuntimeKind::kRecordEvent) {
        thread.recorded_ns = call.start_ns;
      }
      if (!links_.calls[c].events.empty()) {
        Launched(c, thread);
      }
    }
    for (const auto& [key, stream] : streams_) {
      FollowUnlaunched(key, stream);
    }
    std::size_t unused = 0;
    for (const auto& [id, thread] : threads_) {
      unused += thread.waits.size();
    }
    if (unused > 0) {
      rank_.diagnostics.Count("wait_without_source", rank_.label, unused);
    }
  }

 private:
  struct Stream {
    std::vector<std::int32_t> events;       // in order
    std::vector<std::int64_t> enqueued_ns;  // parallel, not falling
  };
  struct Thread {
    std::vector<std::size_t> waits;        // stream waits since its last launch, without ids
    std::int32_t last = -1;                // event launched last
    std::int32_t last_work = -1;           // … that is no collective
    std::int64_t recorded_ns = INT64_MAX;  // its last cudaEventRecord
  };

  [[nodiscard]] const DeviceEvent& Event(std::int32_t i) const { return rank_.Event(i); }
  [[nodiscard]] StreamKey KeyOf(std::size_t i) const {
    return {device_.events[i].device, device_.events[i].stream};
  }
  // Without a launch in the file: some time after what its stream got before. What runs first was
  // launched before the recording began, and a wait within is for that too.
  [[nodiscard]] std::int64_t EnqueuedAt(std::size_t i) const {
    const std::int32_t call = links_.events[i].call;
    return call < 0 ? INT64_MIN : device_.calls[static_cast<std::size_t>(call)].start_ns;
  }

  // The stream's last event that was enqueued before a moment and ended by another; -1: none.
  [[nodiscard]] std::int32_t LastBefore(const Stream& stream, std::int64_t before_ns,
                                        std::int64_t ended_by_ns) const {
    auto i = std::lower_bound(stream.enqueued_ns.begin(), stream.enqueued_ns.end(), before_ns) -
             stream.enqueued_ns.begin();
    while (--i >= 0) {
      if (Event(stream.events[static_cast<std::size_t>(i)]).end_ns <= ended_by_ns) {
        return stream.events[static_cast<std::size_t>(i)];
      }
    }
    return -1;
  }
  // As LastBefore, and counts if it isn't the very last.
  std::int32_t Source(const Stream& stream, std::int64_t before_ns, std::int64_t ended_by_ns) {
    const std::int32_t last = LastBefore(stream, before_ns, INT64_MAX);
    const std::int32_t source = LastBefore(stream, before_ns, ended_by_ns);
    if (source != last) {
      rank_.diagnostics.Count("wait_source_late",
                              fmt::format("{}: {} ended {} ns late", rank_.label, *Event(last).name,
                                          Event(last).end_ns - ended_by_ns));
    }
    return source;
  }

  void Add(std::vector<DeviceSource>& sources, std::int32_t event, bool inferred) {
    const auto same = [&](const DeviceSource& source) { return source.event == event; };
    if (event >= 0 && std::none_of(sources.begin(), sources.end(), same)) {
      sources.push_back({event, inferred});
      if (inferred) {
        rank_.diagnostics.Count("wait_source_inferred");
      }
    }
  }

  [[nodiscard]] const SyncRecord* SyncOf(std::size_t c) const {
    const auto it = syncs_.find(device_.calls[c].correlation);
    return it == syncs_.end() ? nullptr : &device_.syncs[it->second];
  }

  bool RecordedStreamWait(std::size_t c) {
    const SyncRecord* sync = SyncOf(c);
    if (sync == nullptr || sync->stream < 0 || sync->source_stream < 0) {
      return false;
    }
    const auto target = streams_.find({sync->device, sync->stream});
    const auto source = streams_.find({sync->device, sync->source_stream});
    if (target == streams_.end() || source == streams_.end()) {
      return true;  // nothing ran there: nothing to wait for
    }
    const Stream& to = target->second;
    const std::int64_t at_ns = device_.calls[c].start_ns;
    const auto next = std::lower_bound(to.enqueued_ns.begin(), to.enqueued_ns.end(), at_ns);
    if (next == to.enqueued_ns.end()) {
      return true;
    }
    const std::int32_t event = to.events[static_cast<std::size_t>(next - to.enqueued_ns.begin())];
    const auto record = by_correlation_.find(sync->source_correlation);
    const std::int64_t recorded_ns =
        record == by_correlation_.end() ? at_ns : device_.calls[record->second].start_ns;
    if (source->first != target->first) {
      Add(links_.events[static_cast<std::size_t>(event)].sources,
          Source(source->second, recorded_ns, Event(event).start_ns), false);
    }
    return true;
  }

  void Launched(std::size_t c, Thread& thread) {
    const CallLink& link = links_.calls[c];
    const std::int32_t first = link.events.front();
    for (auto& [id, other] : threads_) {
      // What a thread made its stream wait for holds for what others launch there (the optimizer
      // after backward's collectives).
      const bool same_stream =
          other.last_work >= 0 && KeyOf(static_cast<std::size_t>(other.last_work)) ==
                                      KeyOf(static_cast<std::size_t>(first));
      if (!other.waits.empty() && (&other == &thread || same_stream)) {
        ResolveWaits(first, other);
        other.waits.clear();
      }
    }
    thread.last = link.events.back();
    if (!IsNcclKernel(*Event(thread.last).name)) {
      thread.last_work = thread.last;
    }
    // A copy to pageable memory returns when it is done.
    for (const std::int32_t event : link.events) {
      if (Event(event).kind == DeviceEvent::Kind::kMemcpy &&
          Event(event).end_ns <= device_.calls[c].end_ns) {
        Add(links_.calls[c].sources, event, false);
      }
    }
  }

  void ResolveWaits(std::int32_t event, const Thread& thread) {
    const StreamKey target = KeyOf(static_cast<std::size_t>(event));
    auto& sources = links_.events[static_cast<std::size_t>(event)].sources;
    const std::int64_t start_ns = Event(event).start_ns;
    const std::int64_t at_ns = device_.calls[thread.waits.back()].start_ns;
    std::size_t left = thread.waits.size();
    if (IsNcclKernel(*Event(event).name) && thread.last_work >= 0) {
      const StreamKey compute = KeyOf(static_cast<std::size_t>(thread.last_work));
      if (compute != target) {
        Add(sources, Source(streams_.at(compute), at_ns, start_ns), true);
        --left;
      }
    }
    std::vector<std::int32_t> candidates;
    for (const auto& [key, stream] : streams_) {
      if (key != target && key.first == target.first) {
        if (const std::int32_t last = LastBefore(stream, at_ns, start_ns); last >= 0) {
          candidates.push_back(last);
        }
      }
    }
    std::stable_sort(candidates.begin(), candidates.end(), [&](std::int32_t a, std::int32_t b) {
      return Event(a).end_ns > Event(b).end_ns;
    });
    for (const std::int32_t candidate : candidates) {
      if (left > 0) {
        Add(sources, candidate, true);
        --left;
      }
    }
  }

  void FollowUnlaunched(const StreamKey& key, const Stream& stream) {
    for (std::size_t i = 0; i < stream.events.size(); ++i) {
      const std::int32_t event = stream.events[i];
      const std::int64_t start_ns = Event(event).start_ns;
      const std::int64_t idle_since_ns =
          i == 0 ? INT64_MIN : Event(stream.events[i - 1]).end_ns + kQuietNs;
      if (links_.events[static_cast<std::size_t>(event)].call >= 0 || start_ns < idle_since_ns) {
        continue;
      }
      std::int32_t latest = -1;
      for (const auto& [other, events] : streams_) {
        if (other.first != key.first || other == key) {
          continue;
        }
        const auto ended = [&](std::int32_t e) { return Event(e).end_ns <= start_ns; };
        const auto after = std::partition_point(events.events.begin(), events.events.end(), ended);
        if (after != events.events.begin() &&
            (latest < 0 || Event(*(after - 1)).end_ns > Event(latest).end_ns)) {
          latest = *(after - 1);
        }
      }
      if (latest >= 0 && Event(latest).end_ns > start_ns - kQuietNs) {
        Add(links_.events[static_cast<std::size_t>(event)].sources, latest, true);
      }
    }
  }

  void HostWait(std::size_t c, const Thread& thread) {
    const RuntimeCall& call = device_.calls[c];
    auto& sources = links_.calls[c].sources;
    const SyncRecord* sync = SyncOf(c);
    if (call.kind == RuntimeKind::kDeviceSync) {
      for (const auto& [key, stream] : streams_) {
        if (sync == nullptr || key.first == sync->device) {
          Add(sources, Source(stream, call.start_ns, call.end_ns), false);
        }
      }
    } else if (sync != nullptr && sync->stream >= 0) {
      if (const auto it = streams_.find({sync->device, sync->stream}); it != streams_.end()) {
        Add(sources, Source(it->second, call.start_ns, call.end_ns), false);
      }
    } else if (call.kind == RuntimeKind::kEventSync) {
      Add(sources, LatestEnded(std::min(call.start_ns, thread.recorded_ns), call.end_ns), true);
    } else if (thread.last >= 0) {
      const Stream& stream = streams_.at(KeyOf(static_cast<std::size_t>(thread.last)));
      Add(sources, Source(stream, call.start_ns, call.end_ns), true);
    } else {  // another thread launched
      Add(sources, LatestEnded(call.start_ns, call.end_ns), true);
    }
  }

  // Among the last of every stream.
  [[nodiscard]] std::int32_t LatestEnded(std::int64_t before_ns, std::int64_t ended_by_ns) const {
    std::int32_t latest = -1;
    for (const auto& [key, stream] : streams_) {
      const std::int32_t last = LastBefore(stream, before_ns, ended_by_ns);
      if (last >= 0 && (latest < 0 || Event(last).end_ns > Event(latest).end_ns)) {
        latest = last;
      }
    }
    return latest;
  }

  RankCapture& rank_;
  const DeviceTrace& device_;
  DeviceLinks& links_;
  std::unordered_map<std::int64_t, std::size_t> syncs_, by_correlation_;
  std::map<StreamKey, Stream> streams_;
  std::map<std::int64_t, Thread> threads_;
};

}  // namespace

void FindWaitSources(RankCapture& rank) { SourceFinder(rank).Run(); }

}  // namespace reprise::pytorch
