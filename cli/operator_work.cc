#include "cli/operator_work.h"

#include "costs/cost.h"
#include "replayer/plan/known_work.h"

namespace reprise {
namespace {

// Of the elements that an operation computes with: its first floating tensor's, else its first's.
DType TypeOf(const OpCall& call) {
  DType first = DType::kUnknown;
  for (const ValueList* values : {&call.inputs, &call.outputs}) {
    for (const TensorDesc* tensor : TensorsIn(*values)) {
      if (IsFloating(tensor->dtype)) {
        return tensor->dtype;
      }
      first = first == DType::kUnknown ? tensor->dtype : first;
    }
  }
  return first;
}

}  // namespace

Result<Plan> PlanOfWork(const Graph& graph) {
  ReplayOptions options;
  options.default_op_mode = options.default_comm_mode = ReplayMode::kTimed;
  options.assume_groups = true;
  return BuildPlan(graph, options, KernelRegistry::Builtin());
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
    work.dtype = TypeOf(call);
  }
  return work;
}

OperatorWork WorkOf(Node& node) {
  OperatorWork work;
  work.op_class = node.op_class;
  if (node.kind != OpKind::kWork || node.comm) {
    return work;
  }
  OpCall call{.name = node.op.empty() ? node.name : node.op};
  call.inputs.swap(node.inputs);
  call.outputs.swap(node.outputs);
  if (!TensorsIn(call.inputs).empty() || !TensorsIn(call.outputs).empty()) {
    const Cost cost = CostOf(call);
    work.flops = cost.flops;
    work.bytes = cost.bytes;
    work.known = work.flops + work.bytes > 0;
    work.dtype = work.known ? TypeOf(call) : DType::kUnknown;
  }
  call.inputs.swap(node.inputs);
  call.outputs.swap(node.outputs);
  return work;
}

}  // namespace reprise
