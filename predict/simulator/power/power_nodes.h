// The nodes of a rank that take energy, from its graph and what is known of their work.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/comm.h"
#include "et_schema/graph.h"
#include "predict/simulator/network.h"
#include "predict/simulator/operator_times.h"
#include "predict/simulator/power/power_track.h"

namespace reprise {

struct PoweredRank {
  const Graph& graph;
  std::uint32_t first = 0;  // of its nodes in the timing graph
  bool streams = false;     // of the set (predict/simulator/device_operations.h)
  std::function<OperatorWork(Graph::Index i)> work;
  // Of a transfer: the group's ranks; of a pair its two ends. Fewer than two: it takes no energy.
  std::function<std::vector<std::int32_t>(const CommSpec& spec)> members;
};

// Operations without known work take none. Transfers of one group and peer are asked about once.
[[nodiscard]] std::vector<PoweredNode> PoweredNodesOf(const PoweredRank& rank,
                                                      const Network& network);

}  // namespace reprise
