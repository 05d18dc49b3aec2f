// Kernels that ran outside of graphs and are the same as kernels of a graph, in the same order.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "converters/pytorch/rank/graph_recordings.h"
#include "converters/pytorch/rank/rank_capture.h"

namespace reprise::pytorch {

// The kernels that a capture's host launched one by one, in the order of their launches, as a
// graph. Operations have their arguments; `named` is true. Needs the links of calls and events.
[[nodiscard]] RecordedGraph TakeEagerKernels(const RankCapture& rank);

// Stretches of eager kernels, by the kernels' names.
class EagerTwins {
 public:
  // So many kernels after each other must be the same.
  static constexpr std::size_t kStretch = 8;

  // `graphs`: RankCapture::recorded_graphs from index `first` on, which TakeEagerKernels made.
  EagerTwins(const RecordedGraphs& graphs, std::size_t first);

  // By event of a launch: its twin. Each stretch that holds the event is compared with all equal
  // ones: their operator must be the same. Arguments are only of kernels that were launched with
  // the same grid, where both are recorded, and the same in all of these.
  [[nodiscard]] std::vector<RecordedPlace> Find(const RankCapture& rank,
                                                const std::vector<std::int32_t>& launch) const;

 private:
  struct Place {
    std::int32_t graph = 0, node = 0;
  };

  [[nodiscard]] bool Equal(const RankCapture& rank, const std::vector<std::int32_t>& launch,
                           std::size_t at, const Place& place) const;
  [[nodiscard]] const RecordedNode& NodeAt(const Place& place) const;
  [[nodiscard]] const RecordedOperation* OperationAt(const Place& place) const;

  const RecordedGraphs& graphs_;
  std::unordered_map<std::size_t, std::vector<Place>> stretches_;  // by hash of the names
};

}  // namespace reprise::pytorch
