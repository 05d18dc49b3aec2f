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
//
// A graph waits for what its stream got before its launch, and what the stream gets next waits for
// the graph, on whatever streams that ran (graph_launches.h).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "converters/pytorch/rank/nccl.h"
#include "converters/pytorch/rank/stages.h"
#include "converters/pytorch/rank/stream_queues.h"

namespace reprise::pytorch {
namespace {

// A stream that is idle for longer waits for something: launch → start on an idle stream was seen
// to take 6 to 16 µs (median), and after another stream's end up to 19 µs.
constexpr std::int64_t kQuietNs = 50'000;

class SourceFinder {
 public:
  explicit SourceFinder(RankCapture& rank)
      : rank_(rank), device_(rank.kineto.device), links_(rank.links), queues_(rank) {
    for (std::size_t i = 0; i < device_.syncs.size(); ++i) {
      syncs_.emplace(device_.syncs[i].correlation, i);
    }
    for (std::size_t i = 0; i < device_.calls.size(); ++i) {
      by_correlation_.emplace(device_.calls[i].correlation, i);
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
    for (const auto& [key, queue] : queues_.all()) {
      FollowUnlaunched(queue);
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
  using Queue = StreamQueues::Queue;
  struct Thread {
    std::vector<std::size_t> waits;        // stream waits since its last launch, without ids
    std::optional<StreamKey> last;         // on which it launched last
    std::optional<StreamKey> last_work;    // … what is no collective
    std::int64_t recorded_ns = INT64_MAX;  // its last cudaEventRecord
  };

  [[nodiscard]] const DeviceEvent& Event(std::int32_t i) const { return rank_.Event(i); }
  // As LastBefore, and counts if that isn't all that was enqueued.
  std::vector<std::int32_t> Sources(const Queue& queue, std::int64_t before_ns,
                                    std::int64_t ended_by_ns) {
    for (const std::int32_t last : queues_.LastBefore(queue, before_ns, INT64_MAX)) {
      if (Event(last).end_ns > ended_by_ns) {
        rank_.diagnostics.Count("wait_source_late",
                                fmt::format("{}: {} ended {} ns late", rank_.label,
                                            *Event(last).name, Event(last).end_ns - ended_by_ns));
        break;
      }
    }
    return queues_.LastBefore(queue, before_ns, ended_by_ns);
  }

  void Add(std::vector<DeviceSource>& sources, std::int32_t event, bool inferred) {
    const auto same = [&](const DeviceSource& source) { return source.event == event; };
    if (std::none_of(sources.begin(), sources.end(), same)) {
      sources.push_back({event, inferred});
      if (inferred) {
        rank_.diagnostics.Count("wait_source_inferred");
      }
    }
  }
  void Add(std::vector<DeviceSource>& sources, const std::vector<std::int32_t>& events,
           bool inferred) {
    for (const std::int32_t event : events) {
      Add(sources, event, inferred);
    }
  }
  [[nodiscard]] std::vector<DeviceSource>& SourcesOf(std::int32_t event) {
    return links_.events[static_cast<std::size_t>(event)].sources;
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
    const Queue* to = queues_.Find({sync->device, sync->stream});
    const Queue* from = queues_.Find({sync->device, sync->source_stream});
    if (to == nullptr || from == nullptr) {
      return true;  // nothing ran there: nothing to wait for
    }
    const std::int64_t at_ns = device_.calls[c].start_ns;
    const auto next = std::lower_bound(to->enqueued_ns.begin(), to->enqueued_ns.end(), at_ns);
    if (next == to->enqueued_ns.end()) {
      return true;
    }
    const std::int32_t event = to->events[static_cast<std::size_t>(next - to->enqueued_ns.begin())];
    const auto record = by_correlation_.find(sync->source_correlation);
    const std::int64_t recorded_ns =
        record == by_correlation_.end() ? at_ns : device_.calls[record->second].start_ns;
    if (from != to) {
      for (const std::int32_t head : queues_.HeadsOf(*to, event)) {
        Add(SourcesOf(head), Sources(*from, recorded_ns, Event(head).start_ns), false);
      }
    }
    return true;
  }

  void Launched(std::size_t c, Thread& thread) {
    const CallLink& link = links_.calls[c];
    const StreamKey stream = queues_.LaunchedOn(c);
    const std::vector<std::int32_t> heads =
        queues_.HeadsOf(*queues_.Find(stream), link.events.front());
    JoinGraphs(c, *queues_.Find(stream), heads);
    for (auto& [id, other] : threads_) {
      // What a thread made its stream wait for holds for what others launch there (the optimizer
      // after backward's collectives).
      const bool same_stream = other.last_work == stream;
      if (!other.waits.empty() && (&other == &thread || same_stream)) {
        for (const std::int32_t head : heads) {
          ResolveWaits(head, stream, other);
        }
        other.waits.clear();
      }
    }
    thread.last = stream;
    if (!IsNcclKernel(*Event(link.events.back()).name)) {
      thread.last_work = stream;
    }
    // A copy to pageable memory returns when it is done.
    for (const std::int32_t event : link.events) {
      if (Event(event).kind == DeviceEvent::Kind::kMemcpy &&
          Event(event).end_ns <= device_.calls[c].end_ns) {
        Add(links_.calls[c].sources, event, false);
      }
    }
  }

  // What ran before a call on its stream, but was recorded on others: a graph's kernels, or all
  // that is not a graph's.
  void JoinGraphs(std::size_t c, const Queue& queue, const std::vector<std::int32_t>& heads) {
    const GraphLaunch* mine = queues_.GraphOf(c);
    for (const std::int32_t head : heads) {
      for (const std::int32_t source :
           queues_.LastBefore(queue, device_.calls[c].start_ns, Event(head).start_ns)) {
        const GraphLaunch* graph = queues_.GraphOfEvent(source);
        if (queues_.KeyOf(source) != queues_.KeyOf(head)) {
          Add(SourcesOf(head), source,
              (mine != nullptr && mine->inferred) || (graph != nullptr && graph->inferred));
        }
      }
    }
    if (mine != nullptr) {
      FindSourcesInGraph(links_.calls[c].events, rank_);
    }
  }

  void ResolveWaits(std::int32_t event, const StreamKey& target, const Thread& thread) {
    auto& sources = SourcesOf(event);
    const std::int64_t start_ns = Event(event).start_ns;
    const std::int64_t at_ns = device_.calls[thread.waits.back()].start_ns;
    std::size_t left = thread.waits.size();
    if (IsNcclKernel(*Event(event).name) && thread.last_work && *thread.last_work != target) {
      Add(sources, Sources(*queues_.Find(*thread.last_work), at_ns, start_ns), true);
      --left;
    }
    std::vector<std::vector<std::int32_t>> candidates;
    for (const auto& [key, queue] : queues_.all()) {
      if (key != target && key.first == target.first) {
        auto last = queues_.LastBefore(queue, at_ns, start_ns);
        const bool known = std::find(candidates.begin(), candidates.end(), last) !=
                           candidates.end();  // a graph's are on two streams
        if (!last.empty() && !known) {
          candidates.push_back(std::move(last));
        }
      }
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [&](const auto& a, const auto& b) { return LatestEnd(a) > LatestEnd(b); });
    for (std::size_t i = 0; i < std::min(left, candidates.size()); ++i) {
      Add(sources, candidates[i], true);
    }
  }

  [[nodiscard]] std::int64_t LatestEnd(const std::vector<std::int32_t>& events) const {
    std::int64_t latest_ns = INT64_MIN;
    for (const std::int32_t event : events) {
      latest_ns = std::max(latest_ns, Event(event).end_ns);
    }
    return latest_ns;
  }

  void FollowUnlaunched(const Queue& queue) {
    for (std::size_t i = 0; i < queue.events.size(); ++i) {
      const std::int32_t event = queue.events[i];
      const std::int64_t start_ns = Event(event).start_ns;
      const std::int64_t idle_since_ns = i == 0 ? INT64_MIN : queue.latest_end_ns[i - 1] + kQuietNs;
      if (links_.events[static_cast<std::size_t>(event)].call >= 0 || Event(event).HasNoLaunch() ||
          start_ns < idle_since_ns) {
        continue;
      }
      std::vector<std::int32_t> latest;
      for (const auto& [key, other] : queues_.all()) {
        if (key.first != queue.key.first || key == queue.key) {
          continue;
        }
        std::vector<std::int32_t> ended = queues_.EndedBy(other, start_ns);
        if (!ended.empty() && LatestEnd(ended) > LatestEnd(latest)) {
          latest = std::move(ended);
        }
      }
      if (LatestEnd(latest) > start_ns - kQuietNs) {
        Add(SourcesOf(event), latest, true);
      }
    }
  }

  void HostWait(std::size_t c, const Thread& thread) {
    const RuntimeCall& call = device_.calls[c];
    auto& sources = links_.calls[c].sources;
    const SyncRecord* sync = SyncOf(c);
    if (call.kind == RuntimeKind::kDeviceSync) {
      for (const auto& [key, queue] : queues_.all()) {
        if (sync == nullptr || key.first == sync->device) {
          Add(sources, Sources(queue, call.start_ns, call.end_ns), false);
        }
      }
    } else if (sync != nullptr && sync->stream >= 0) {
      if (const Queue* queue = queues_.Find({sync->device, sync->stream}); queue != nullptr) {
        Add(sources, Sources(*queue, call.start_ns, call.end_ns), false);
      }
    } else if (call.kind == RuntimeKind::kEventSync) {
      Add(sources, LatestEnded(std::min(call.start_ns, thread.recorded_ns), call.end_ns), true);
    } else if (thread.last) {
      Add(sources, Sources(*queues_.Find(*thread.last), call.start_ns, call.end_ns), true);
    } else {  // another thread launched
      Add(sources, LatestEnded(call.start_ns, call.end_ns), true);
    }
  }

  // Among the last of every stream.
  [[nodiscard]] std::vector<std::int32_t> LatestEnded(std::int64_t before_ns,
                                                      std::int64_t ended_by_ns) const {
    std::vector<std::int32_t> latest;
    for (const auto& [key, queue] : queues_.all()) {
      std::vector<std::int32_t> last = queues_.LastBefore(queue, before_ns, ended_by_ns);
      if (!last.empty() && LatestEnd(last) > LatestEnd(latest)) {
        latest = std::move(last);
      }
    }
    return latest;
  }

  RankCapture& rank_;
  const DeviceTrace& device_;
  DeviceLinks& links_;
  StreamQueues queues_;
  std::unordered_map<std::int64_t, std::size_t> syncs_, by_correlation_;
  std::map<std::int64_t, Thread> threads_;
};

}  // namespace

void FindWaitSources(RankCapture& rank) { SourceFinder(rank).Run(); }

}  // namespace reprise::pytorch
