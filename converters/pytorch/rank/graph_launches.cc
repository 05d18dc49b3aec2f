#include "converters/pytorch/rank/graph_launches.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "converters/pytorch/rank/nccl.h"

namespace reprise::pytorch {
namespace {

// Between two kernels of a graph that follow each other on a stream lie 1 to 2 µs.
constexpr std::int64_t kGraphGapNs = 5'000;
constexpr std::int64_t kNoStream = INT64_MIN;

bool IsGraphLaunch(const RuntimeCall& call) {
  return call.name->find("GraphLaunch") != std::string::npos;
}

class GraphLaunchFinder {
 public:
  explicit GraphLaunchFinder(RankCapture& rank) : rank_(rank), device_(rank.kineto.device) {}

  std::unordered_map<std::size_t, GraphLaunch> Run() {
    for (std::size_t c = 0; c < device_.calls.size(); ++c) {
      if (IsGraphLaunch(device_.calls[c]) && !EventsOf(c).empty()) {
        AddLaunch(c);
      }
    }
    if (launches_.empty()) {
      return {};
    }
    FindPlainLaunches();
    for (const std::size_t c : order_) {
      ChooseStream(c);
    }
    std::erase_if(launches_, [&](const auto& entry) { return !LeavesItsStream(entry.second); });
    return std::move(launches_);
  }

 private:
  struct Plain {
    std::size_t call = 0;
    StreamKey stream;
  };
  // When events of a stream were enqueued and ran, without those of graphs.
  struct PlainEvent {
    std::int64_t enqueued_ns = 0, start_ns = 0, end_ns = 0;
  };

  [[nodiscard]] const std::vector<std::int32_t>& EventsOf(std::size_t c) const {
    return rank_.links.calls[c].events;
  }
  [[nodiscard]] StreamKey KeyOf(std::int32_t e) const {
    return {rank_.Event(e).device, rank_.Event(e).stream};
  }

  void AddLaunch(std::size_t c) {
    GraphLaunch& launch = launches_[c];
    struct OnStream {
      std::int64_t first_end_ns = INT64_MAX;
      std::int32_t last = -1;
    };
    std::map<StreamKey, OnStream> streams;
    for (const std::int32_t e : EventsOf(c)) {  // by start
      OnStream& stream = streams[KeyOf(e)];
      if (rank_.Event(e).start_ns < stream.first_end_ns) {
        launch.first.push_back(e);
      }
      stream.first_end_ns = std::min(stream.first_end_ns, rank_.Event(e).end_ns);
      stream.last = e;
    }
    for (const std::int32_t e : EventsOf(c)) {
      const std::int32_t last = streams.at(KeyOf(e)).last;
      if (e == last || rank_.Event(e).end_ns > rank_.Event(last).start_ns) {
        launch.last.push_back(e);
      }
    }
    order_.push_back(c);
  }

  void FindPlainLaunches() {
    for (std::size_t c = 0; c < device_.calls.size(); ++c) {
      if (EventsOf(c).empty() || launches_.contains(c)) {
        continue;
      }
      const std::int32_t e = EventsOf(c).front();
      if (!IsNcclKernel(*rank_.Event(e).name)) {
        plain_[device_.calls[c].thread].push_back({c, KeyOf(e)});
      }
      for (const std::int32_t each : EventsOf(c)) {
        const DeviceEvent& event = rank_.Event(each);
        streams_[KeyOf(each)].push_back({device_.calls[c].start_ns, event.start_ns, event.end_ns});
      }
    }
  }

  void ChooseStream(std::size_t c) {
    GraphLaunch& launch = launches_.at(c);
    const RuntimeCall& call = device_.calls[c];
    const std::int32_t device = rank_.Event(launch.first.front()).device;
    if (call.stream && *call.stream >= 0 &&
        streams_.contains({device, *call.stream})) {  // no pointer
      launch.stream = {device, *call.stream};
      return;
    }
    launch.inferred = true;
    launch.stream = {device, kNoStream + (call.thread & INT32_MAX)};
    const std::vector<Plain>& plain = plain_[call.thread];
    const auto next = std::partition_point(plain.begin(), plain.end(),
                                           [&](const Plain& of) { return of.call < c; });
    std::optional<StreamKey> found;
    if (next != plain.begin() && Fits(std::prev(next)->stream, c)) {
      found = std::prev(next)->stream;
    } else if (next != plain.end() && Fits(next->stream, c)) {
      found = next->stream;
    }
    launch.stream = found.value_or(launch.stream);
    if (LeavesItsStream(launch)) {
      rank_.diagnostics.Count(
          found ? "graph_stream_inferred" : "graph_stream_unknown",
          fmt::format("{}: {} correlation {}", rank_.label, *call.name, call.correlation));
    }
  }

  // Whether the recording allows that the graph ran between what the stream got before and after.
  [[nodiscard]] bool Fits(const StreamKey& key, std::size_t c) const {
    const GraphLaunch& launch = launches_.at(c);
    if (key.first != rank_.Event(launch.first.front()).device) {
      return false;
    }
    const auto& events = streams_.at(key);
    const auto next = std::partition_point(events.begin(), events.end(), [&](const PlainEvent& e) {
      return e.enqueued_ns < device_.calls[c].start_ns;
    });
    std::int64_t end_ns = INT64_MIN;
    for (const std::int32_t e : launch.last) {
      end_ns = std::max(end_ns, rank_.Event(e).end_ns);
    }
    return (next == events.begin() ||
            std::prev(next)->end_ns <= rank_.Event(launch.first.front()).start_ns) &&
           (next == events.end() || next->start_ns >= end_ns);
  }

  [[nodiscard]] bool LeavesItsStream(const GraphLaunch& launch) const {
    return std::any_of(launch.first.begin(), launch.first.end(),
                       [&](std::int32_t e) { return KeyOf(e) != launch.stream; });
  }

  RankCapture& rank_;
  const DeviceTrace& device_;
  std::unordered_map<std::size_t, GraphLaunch> launches_;
  std::vector<std::size_t> order_;
  std::unordered_map<std::int64_t, std::vector<Plain>> plain_;  // by thread
  std::map<StreamKey, std::vector<PlainEvent>> streams_;
};

}  // namespace

std::unordered_map<std::size_t, GraphLaunch> FindGraphLaunches(RankCapture& rank) {
  return GraphLaunchFinder(rank).Run();
}

void FindSourcesInGraph(const std::vector<std::int32_t>& events, RankCapture& rank) {
  std::vector<std::int32_t> by_end = events;
  std::stable_sort(by_end.begin(), by_end.end(), [&](std::int32_t a, std::int32_t b) {
    return rank.Event(a).end_ns < rank.Event(b).end_ns;
  });
  std::size_t ended = 0;
  std::map<StreamKey, std::int64_t> last_end_ns;
  for (const std::int32_t e : events) {
    const DeviceEvent& event = rank.Event(e);
    const StreamKey key{event.device, event.stream};
    while (ended < by_end.size() && rank.Event(by_end[ended]).end_ns <= event.start_ns) {
      ++ended;
    }
    const auto [mine, first] = last_end_ns.try_emplace(key, INT64_MIN);
    if (ended > 0 && by_end[ended - 1] != e) {
      const DeviceEvent& source = rank.Event(by_end[ended - 1]);
      const bool elsewhere = StreamKey(source.device, source.stream) != key;
      if (elsewhere && (first || (source.end_ns > mine->second &&
                                  event.start_ns - mine->second > kGraphGapNs))) {
        rank.links.events[static_cast<std::size_t>(e)].sources.push_back({by_end[ended - 1], true});
        rank.diagnostics.Count("wait_source_inferred");
      }
    }
    mine->second = std::max(mine->second, event.end_ns);
  }
}

}  // namespace reprise::pytorch
