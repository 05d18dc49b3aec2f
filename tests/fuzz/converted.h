// What every reader's nodes must hold once they are finished.
#pragma once

#include <cstdlib>
#include <map>
#include <span>

#include "converters/chakra/groups.h"
#include "converters/finish_trace.h"
#include "et_schema/graph.h"

namespace reprise {

// Finished nodes are a graph, ids and all, in which the equation of times holds.
inline void RequireSound(std::vector<Node> nodes, Diagnostics& diagnostics) {
  auto finished = FinishTrace("fuzz", 0, std::move(nodes), diagnostics);
  if (!finished) {
    return;
  }
  std::map<std::uint64_t, std::int64_t> ends;
  for (const Node& node : finished->nodes) {
    ends[node.id] = node.start_ns + node.duration_ns;
  }
  for (const Node& node : finished->nodes) {
    std::int64_t ready = 0;
    for (const Dependency& dep : node.deps) {
      ready = std::max(ready, ends.at(dep.node_id));
    }
    if (node.start_ns != ready + node.delay_ns || node.delay_ns < 0) {
      std::abort();
    }
  }
  if (!Graph::Build({}, std::move(finished->nodes))) {
    std::abort();
  }
}

inline void RequireSound(chakra::RankTrace& trace) {
  chakra::AssignGroups({&trace, 1}, {}, 4, trace.diagnostics);
  RequireSound(std::move(trace.nodes), trace.diagnostics);
}

}  // namespace reprise
