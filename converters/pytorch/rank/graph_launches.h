// Launches of device graphs (cudaGraphLaunch, hipGraphLaunch): one call, many kernels, often on
// streams of their own, which the call's stream waits for.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "converters/pytorch/rank/rank_capture.h"

namespace reprise::pytorch {

using StreamKey = std::pair<std::int32_t, std::int64_t>;  // device, stream

struct GraphLaunch {
  StreamKey stream;       // that it was launched on
  bool inferred = false;  // … as the thread's other launches say
  // Events, by start: those before which none of the graph had ended on their stream, and those
  // after which none began.
  std::vector<std::int32_t> first, last;
};

// By index of the call: graphs that ran on other streams than their own. Where neither the call nor
// other launches say on which stream it was, all of its thread are on a stream without a number
// (`graph_stream_unknown`). Counts `graph_stream_inferred`. Needs the links of calls and events.
[[nodiscard]] std::unordered_map<std::size_t, GraphLaunch> FindGraphLaunches(RankCapture& rank);

// Kernels of a graph that waited for others of it on another stream: adds these to their sources,
// inferred from times.
void FindSourcesInGraph(const std::vector<std::int32_t>& events, RankCapture& rank);

}  // namespace reprise::pytorch
