// What was enqueued on every stream of a rank, and what a wait for a stream waits for.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "converters/pytorch/rank/graph_launches.h"
#include "converters/pytorch/rank/rank_capture.h"

namespace reprise::pytorch {

// `rank` must outlive it.
class StreamQueues {
 public:
  struct Queue {
    StreamKey key;
    // In order of start. A graph's are also on the stream that it was launched on.
    std::vector<std::int32_t> events;
    std::vector<std::int64_t> enqueued_ns;    // parallel, not falling
    std::vector<std::int64_t> latest_end_ns;  // parallel: of all up to here
  };

  // Needs the links of calls and events.
  explicit StreamQueues(RankCapture& rank);

  [[nodiscard]] const std::map<StreamKey, Queue>& all() const { return queues_; }
  [[nodiscard]] const Queue* Find(const StreamKey& key) const;
  [[nodiscard]] StreamKey KeyOf(std::int32_t event) const;
  // The stream that a call launched on; it launched something.
  [[nodiscard]] StreamKey LaunchedOn(std::size_t call) const;
  // The graph that a call launched or that an event is of; nullptr: none that left its stream.
  [[nodiscard]] const GraphLaunch* GraphOf(std::size_t call) const;
  [[nodiscard]] const GraphLaunch* GraphOfEvent(std::int32_t event) const;
  // Where a queue goes on after a wait: the event, or the first ones of its graph.
  [[nodiscard]] std::vector<std::int32_t> HeadsOf(const Queue& queue, std::int32_t event) const;

  // What has to have ended so that all has that was enqueued before a moment, as far as it ended by
  // another: the last event, those that it ran beside, and all last ones of a graph.
  [[nodiscard]] std::vector<std::int32_t> LastBefore(const Queue& queue, std::int64_t before_ns,
                                                     std::int64_t ended_by_ns) const;
  // The same of all that had started and ended by a moment, whenever it was enqueued.
  [[nodiscard]] std::vector<std::int32_t> EndedBy(const Queue& queue, std::int64_t at_ns) const;

 private:
  // Of the first `count` events of a queue.
  [[nodiscard]] std::vector<std::int32_t> LastOf(const Queue& queue, std::size_t count,
                                                 std::int64_t ended_by_ns) const;
  [[nodiscard]] std::int64_t EnqueuedAt(std::int32_t event) const;

  const RankCapture& rank_;
  std::unordered_map<std::size_t, GraphLaunch> graphs_;
  std::map<StreamKey, Queue> queues_;
};

}  // namespace reprise::pytorch
