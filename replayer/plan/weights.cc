#include <algorithm>
#include <map>
#include <set>

#include "replayer/plan/node_origins.h"
#include "replayer/plan/training_phases.h"

namespace reprise {
namespace {

// `self` of an operator that writes it ends in "_"; fused ones and _foreach have a list of them.
bool WritesItsOperand(std::string_view name) {
  return name.ends_with("_") || name.starts_with("aten::_fused_");
}

}  // namespace

WeightCounts CountWeights(const Graph& graph) {
  std::map<std::int64_t, std::int64_t> weights;  // bytes by storage incarnation
  std::set<std::int64_t> made;                   // in this trace
  std::set<std::int64_t> written;                // by an optimizer
  bool optimizer = false;
  const std::vector<Phase> phases = FindPhases(graph);
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    const bool updates = phases[i] == Phase::kOptimizer;
    const bool product = graph.op_class(i) == OpClass::kGemm;
    const auto call = graph.Call(i);
    if (!call) {
      return {};
    }
    for (const TensorDesc* tensor : TensorsIn(call->outputs)) {
      bool view = false;
      for (const TensorDesc* input : TensorsIn(call->inputs)) {
        view = view || input->incarnation == tensor->incarnation;
      }
      if (!view) {
        made.insert(tensor->incarnation);
      }
    }
    if (updates && WritesItsOperand(graph.name(i)) && !call->inputs.empty()) {
      const ValueList first(call->inputs.begin(), call->inputs.begin() + 1);
      for (const TensorDesc* tensor : TensorsIn(first)) {
        written.insert(tensor->incarnation);
        optimizer = true;
      }
    }
    if (!product) {
      continue;
    }
    for (const TensorDesc* tensor : TensorsIn(call->inputs)) {
      if (tensor->IsDefined() && IsFloating(tensor->dtype) && tensor->shape.size() == 2 &&
          made.count(tensor->incarnation) == 0) {
        std::int64_t& bytes = weights[tensor->incarnation];
        bytes = std::max(bytes, tensor->elements * SizeOf(tensor->dtype));
      }
    }
  }
  WeightCounts counts;
  if (!optimizer) {
    return counts;
  }
  for (const auto& [incarnation, bytes] : weights) {
    const bool trained = written.count(incarnation) > 0;
    (trained ? counts.trained : counts.frozen) += 1;
    (trained ? counts.trained_bytes : counts.frozen_bytes) += bytes;
  }
  return counts;
}

}  // namespace reprise
