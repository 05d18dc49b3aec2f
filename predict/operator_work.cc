#include "predict/operator_work.h"

#include <optional>
#include <utility>

#include "core/costs/cost.h"
#include "replayer/plan/known_work.h"

namespace reprise {
namespace {

// The cost of a node's operation, and its dtype. The node is unchanged afterwards. Nothing for a
// node without tensors.
std::optional<std::pair<Cost, DType>> CostOfNode(Node& node) {
  OpCall call{.name = node.op.empty() ? node.name : node.op};
  call.inputs.swap(node.inputs);
  call.outputs.swap(node.outputs);
  std::optional<std::pair<Cost, DType>> found;
  if (!TensorsIn(call.inputs).empty() || !TensorsIn(call.outputs).empty()) {
    found.emplace(CostOf(call), ElementType(call));
  }
  call.inputs.swap(node.inputs);
  call.outputs.swap(node.outputs);
  return found;
}

}  // namespace

Result<Plan> PlanOfWork(const Graph& graph) {
  PlanOptions options;
  options.default_op_mode = options.default_comm_mode = ReplayMode::kTimed;
  options.assume_groups = true;
  return BuildPlan(graph, options);
}

Result<OperatorWork> WorkOf(const Graph& graph, const Plan& plan, Graph::Index i) {
  const Work& planned = plan.work[i];
  OperatorWork work;
  work.op_class = graph.op_class(i);
  work.flops = planned.cost.flops;
  work.bytes = planned.cost.bytes;
  const bool moves_over_host = MovedBytes(graph, i) >= 0 && CrossesToHost(graph, i);
  work.known = planned.type == WorkType::kCompute && planned.source != WorkSource::kNone &&
               planned.source != WorkSource::kUnknown && work.flops + work.bytes > 0 &&
               !moves_over_host;
  if (work.known) {
    REPRISE_ASSIGN(const OpCall call, graph.Call(i));
    work.dtype = ElementType(call);
  }
  return work;
}

OperatorWork WorkOf(Node& node) {
  OperatorWork work;
  work.op_class = node.op_class;
  if (node.kind != OpKind::kWork || node.comm || IsStorage(node.type)) {
    return work;
  }
  if (const auto found = CostOfNode(node)) {
    work.flops = found->first.flops;
    work.bytes = found->first.bytes;
    work.known = work.flops + work.bytes > 0;
    work.dtype = work.known ? found->second : DType::kUnknown;
  }
  return work;
}

CostTable OperatorCosts() {
  return [](Node& node) -> OperationCost {
    const auto found = CostOfNode(node);
    return found ? OperationCost{found->first.flops, found->first.bytes} : OperationCost{};
  };
}

}  // namespace reprise
