#include "converters/pytorch/rank/stream_queues.h"

#include <algorithm>

namespace reprise::pytorch {
namespace {

constexpr std::size_t kMaxLookedBack = 1'000;

}  // namespace

StreamQueues::StreamQueues(RankCapture& rank) : rank_(rank), graphs_(FindGraphLaunches(rank)) {
  const auto add = [this](const StreamKey& key, std::int32_t e) {
    Queue& queue = queues_[key];
    queue.key = key;
    const std::int64_t end_ns = rank_.Event(e).end_ns;
    const bool first = queue.events.empty();
    queue.enqueued_ns.push_back(first ? EnqueuedAt(e)
                                      : std::max(queue.enqueued_ns.back(), EnqueuedAt(e)));
    queue.latest_end_ns.push_back(first ? end_ns : std::max(queue.latest_end_ns.back(), end_ns));
    queue.events.push_back(e);
  };
  for (std::size_t i = 0; i < rank.kineto.device.events.size(); ++i) {
    const auto e = static_cast<std::int32_t>(i);
    add(KeyOf(e), e);
    const GraphLaunch* graph = GraphOfEvent(e);
    if (graph != nullptr && graph->stream != KeyOf(e)) {
      add(graph->stream, e);
    }
  }
}

const StreamQueues::Queue* StreamQueues::Find(const StreamKey& key) const {
  const auto it = queues_.find(key);
  return it == queues_.end() ? nullptr : &it->second;
}

StreamKey StreamQueues::KeyOf(std::int32_t event) const {
  return {rank_.Event(event).device, rank_.Event(event).stream};
}

StreamKey StreamQueues::LaunchedOn(std::size_t call) const {
  const GraphLaunch* graph = GraphOf(call);
  return graph != nullptr ? graph->stream : KeyOf(rank_.links.calls[call].events.back());
}

const GraphLaunch* StreamQueues::GraphOf(std::size_t call) const {
  const auto it = graphs_.find(call);
  return it == graphs_.end() ? nullptr : &it->second;
}

const GraphLaunch* StreamQueues::GraphOfEvent(std::int32_t event) const {
  const std::int32_t call = rank_.EventLinkOf(event).call;
  return call < 0 ? nullptr : GraphOf(static_cast<std::size_t>(call));
}

std::vector<std::int32_t> StreamQueues::HeadsOf(const Queue& queue, std::int32_t event) const {
  const GraphLaunch* graph = GraphOfEvent(event);
  return graph != nullptr && graph->stream == queue.key ? graph->first : std::vector{event};
}

// Without a launch in the file: some time after what its stream got before. What runs first was
// launched before the recording began, and a wait within is for that too.
std::int64_t StreamQueues::EnqueuedAt(std::int32_t event) const {
  const std::int32_t call = rank_.EventLinkOf(event).call;
  return call < 0 ? INT64_MIN : rank_.Call(call).start_ns;
}

std::vector<std::int32_t> StreamQueues::LastBefore(const Queue& queue, std::int64_t before_ns,
                                                   std::int64_t ended_by_ns) const {
  const auto next = std::lower_bound(queue.enqueued_ns.begin(), queue.enqueued_ns.end(), before_ns);
  return LastOf(queue, static_cast<std::size_t>(next - queue.enqueued_ns.begin()), ended_by_ns);
}

std::vector<std::int32_t> StreamQueues::EndedBy(const Queue& queue, std::int64_t at_ns) const {
  const auto next =
      std::partition_point(queue.events.begin(), queue.events.end(),
                           [&](std::int32_t e) { return rank_.Event(e).start_ns <= at_ns; });
  return LastOf(queue, static_cast<std::size_t>(next - queue.events.begin()), at_ns);
}

std::vector<std::int32_t> StreamQueues::LastOf(const Queue& queue, std::size_t i,
                                               std::int64_t ended_by_ns) const {
  std::vector<std::int32_t> out;
  const auto add = [&](std::int32_t e) {
    if (rank_.Event(e).end_ns <= ended_by_ns && std::find(out.begin(), out.end(), e) == out.end()) {
      out.push_back(e);
    }
  };
  while (i > 0 && out.empty()) {
    add(queue.events[--i]);
  }
  if (out.empty()) {
    return out;
  }
  const std::int64_t start_ns = rank_.Event(out.front()).start_ns;
  for (std::size_t looked = 0;
       i > 0 && looked < kMaxLookedBack && queue.latest_end_ns[i - 1] > start_ns; ++looked) {
    if (const std::int32_t e = queue.events[--i]; rank_.Event(e).end_ns > start_ns) {
      add(e);
    }
  }
  const std::vector<std::int32_t> found = out;
  for (const std::int32_t e : found) {
    if (const GraphLaunch* graph = GraphOfEvent(e);
        graph != nullptr && graph->stream == queue.key) {
      std::for_each(graph->last.begin(), graph->last.end(), add);
    }
  }
  return out;
}

}  // namespace reprise::pytorch
