#include "replayer/plan/known_work.h"

#include <algorithm>
#include <vector>

#include "core/copy_direction.h"
#include "core/kernel_names.h"
#include "core/operators.h"

namespace reprise {
namespace {

// Of the results; of the arguments where there are no results.
bool HasNoElements(const std::vector<const TensorDesc*>& inputs,
                   const std::vector<const TensorDesc*>& results) {
  const auto& tensors = results.empty() ? inputs : results;
  return !tensors.empty() && std::all_of(tensors.begin(), tensors.end(), [](const auto* tensor) {
    return ElementCount(tensor->shape) == 0;
  });
}

Cost CountedCost(const Graph& graph, Graph::Index i) {
  return {static_cast<double>(std::max<std::int64_t>(graph.num_ops(i), 0)),
          static_cast<double>(std::max<std::int64_t>(graph.tensor_bytes(i), 0))};
}

}  // namespace

KnownWork FindWork(const Graph& graph, Graph::Index i, const OpCall& call,
                   const FindKernel& find_kernel) {
  if (IsStorage(graph.type(i))) {
    return {};
  }
  const std::int64_t moved_bytes = MovedBytes(graph, i);
  const Cost moved = {0, static_cast<double>(moved_bytes)};
  const auto inputs = TensorsIn(call.inputs);
  const auto results = TensorsIn(call.outputs);
  const bool no_elements = HasNoElements(inputs, results);
  if (const Kernel* kernel = find_kernel ? find_kernel(call) : nullptr) {
    return {kernel, moved_bytes > 0 ? moved : CostOf(call), WorkSource::kArguments, no_elements};
  }
  if (moved_bytes > 0) {
    return {nullptr, moved, WorkSource::kCopiedBytes};
  }
  if ((!inputs.empty() || !results.empty()) && SaysItsWork(graph.op_source(i), call.name)) {
    return {nullptr, CostOf(call), WorkSource::kArguments, no_elements};
  }
  const Cost counted = CountedCost(graph, i);
  return counted.flops > 0 || counted.bytes > 0 ? KnownWork{nullptr, counted, WorkSource::kCounts}
                                                : KnownWork{};
}

bool SaysItsWork(OpSource source, std::string_view operation) {
  return source == OpSource::kLaunch || FindOperator(operation) || IsFusedKernelName(operation);
}

std::int64_t MovedBytes(const Graph& graph, Graph::Index i) {
  if (const DeviceWork* work = graph.device_work(i); work != nullptr && work->copied_bytes >= 0) {
    return work->copied_bytes;
  }
  const NodeType type = graph.type(i);
  return type == NodeType::kMemLoad || type == NodeType::kMemStore ? graph.tensor_bytes(i) : -1;
}

bool HasNothingButTime(const Graph& graph, Graph::Index i) {
  return graph.op_class(i) == OpClass::kCompiled || IsStorage(graph.type(i));
}

bool OnlyFills(const Graph& graph, Graph::Index i) {
  return graph.device_work(i) != nullptr && CopyDirectionOf(graph.name(i)) == CopyDirection::kFill;
}

bool CrossesToHost(const Graph& graph, Graph::Index i) {
  const CopyDirection direction = CopyDirectionOf(graph.name(i));
  return graph.device_work(i) != nullptr &&
         (direction == CopyDirection::kToDevice || direction == CopyDirection::kToHost);
}

bool HasDurations(const Graph& graph) {
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    const bool works = graph.comm(i) != nullptr || graph.kind(i) == OpKind::kWork ||
                       graph.actor(i).kind == Actor::Kind::kStream;
    if (works && graph.duration_ns(i) > 0) {
      return true;
    }
  }
  return false;
}

}  // namespace reprise
