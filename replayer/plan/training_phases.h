// Which part of the training step each node belongs to, concluded from the trace
// (docs/definitions.md, "Phases").
#pragma once

#include <vector>

#include "core/phase.h"
#include "et_schema/graph.h"

namespace reprise {

// By graph index.
[[nodiscard]] std::vector<Phase> FindPhases(const Graph& graph);

}  // namespace reprise
