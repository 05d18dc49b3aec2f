// What an operation of a trace works, for the simulator: the one place that says it.
#pragma once

#include "converters/operation_cost.h"
#include "core/result.h"
#include "et_schema/graph.h"
#include "predict/simulator/operator_times.h"
#include "replayer/plan/plan.h"

namespace reprise {

// By the plan's cost, and the type of the operation's tensors. Bad input: arguments that cannot be
// decoded.
[[nodiscard]] Result<OperatorWork> WorkOf(const Graph& graph, const Plan& plan, Graph::Index i);

// A plan for its costs alone: nothing is to run.
[[nodiscard]] Result<Plan> PlanOfWork(const Graph& graph);
// Of a node that the generator made; its arguments are put back. The same as the other's of the
// node in a graph.
[[nodiscard]] OperatorWork WorkOf(Node& node);

// Costs as replay counts them (core/costs/), for folders that may not include core/costs/. Unknown
// for a node without tensors.
[[nodiscard]] CostTable OperatorCosts();

}  // namespace reprise
