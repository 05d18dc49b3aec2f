// The dependency graph of a trace as text for other programs: Graphviz and GraphML.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>

#include "core/result.h"
#include "et_schema/graph.h"

namespace reprise {

struct GraphTextSummary {
  std::uint64_t nodes = 0, edges = 0;
  // Edges that cross the border of the chosen step; not written.
  std::uint64_t edges_left_out = 0;
};

// Nodes of one step, or of all; by rank, then by recorded start: the same graphs give the same
// bytes. A node's name is "r<rank>n<id>". Nodes carry name, type, kind, class, actor and times,
// edges their reason and whether they were inferred; an edge leads from what ends to what waits.
[[nodiscard]] Result<GraphTextSummary> WriteDot(std::span<const Graph* const> graphs,
                                                std::optional<std::int32_t> step,
                                                std::ostream& out);
[[nodiscard]] Result<GraphTextSummary> WriteGraphMl(std::span<const Graph* const> graphs,
                                                    std::optional<std::int32_t> step,
                                                    std::ostream& out);

}  // namespace reprise
