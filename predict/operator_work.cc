#include "predict/operator_work.h"

#include <optional>
#include <utility>

#include "core/costs/cost.h"
#include "replayer/plan/known_work.h"

namespace reprise {
namespace {

struct CallWork {
  Cost cost;
  DType dtype = DType::kUnknown;
  WorkShape shape;
};

// Of a node's operation. The node is unchanged afterwards. Nothing for a node without tensors.
std::optional<CallWork> CallWorkOf(Node& node) {
  OpCall call{.name = node.op.empty() ? node.name : node.op};
  call.inputs.swap(node.inputs);
  call.outputs.swap(node.outputs);
  std::optional<CallWork> found;
  const bool tensors = !TensorsIn(call.inputs).empty() || !TensorsIn(call.outputs).empty();
  if (tensors && SaysItsWork(node.op_source, call.name)) {
    found = CallWork{CostOf(call), ElementType(call), WorkShapeOf(call)};
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
    work.shape = WorkShapeOf(call);
  }
  return work;
}

OperatorWork WorkOf(Node& node) {
  OperatorWork work;
  work.op_class = node.op_class;
  if (node.kind != OpKind::kWork || node.comm || IsStorage(node.type)) {
    return work;
  }
  if (const auto found = CallWorkOf(node)) {
    work.flops = found->cost.flops;
    work.bytes = found->cost.bytes;
    work.known = work.flops + work.bytes > 0;
    work.dtype = work.known ? found->dtype : DType::kUnknown;
    work.shape = found->shape;
  }
  return work;
}

CostTable OperatorCosts() {
  return [](Node& node) -> OperationCost {
    const auto found = CallWorkOf(node);
    return found ? OperationCost{found->cost.flops, found->cost.bytes} : OperationCost{};
  };
}

}  // namespace reprise
