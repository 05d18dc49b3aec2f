// The steps of a trace's nodes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/timing/steps.h"
#include "et_schema/graph.h"

namespace reprise {

// The step of a node; 0 in a trace without steps, −1 outside the steps of one that has some.
[[nodiscard]] std::int32_t StepOf(const Graph& graph, Graph::Index i);

// Of all nodes.
[[nodiscard]] std::vector<std::int32_t> StepsOfNodes(const Graph& graph);

// As recorded. A trace without steps is one step, from its first start to its last end.
[[nodiscard]] StepFrame FrameOf(const Graph& graph);

// Recorded time of a step: the mean of all.
[[nodiscard]] std::int64_t RecordedStepNs(const Graph& graph);

}  // namespace reprise
