#include "replayer/engine/step_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/dtype.h"

namespace reprise {
namespace {

using Index = Graph::Index;

// All calls of the forward phase with the same weight as the first one: the parts of a batch.
struct Calls {
  std::string name;
  std::uint64_t first_node = 0;
  std::int64_t weight = -1;  // incarnation
  std::vector<TensorDesc> batches;
};

class BatchFinder {
 public:
  BatchFinder(const Graph& graph, const std::vector<Phase>& phases)
      : graph_(graph), phases_(phases) {
    for (Index i = 0; i < graph.size(); ++i) {
      steps_.insert(graph.step(i));
    }
  }

  StepBatch Find() {
    // aten::embedding(weight, indices), aten::…convolution(input, weight, …)
    const Calls embeddings = Collect(OpClass::kEmbedding, 0, 1);
    const Calls convolutions = Collect(OpClass::kConv, 1, 0);
    StepBatch batch;
    if (!embeddings.batches.empty()) {
      batch.tokens = PerStep(embeddings, [](const TensorDesc& ids) { return ids.elements; });
      batch.tokens_from =
          fmt::format("indices of {}, node {}", embeddings.name, embeddings.first_node);
      batch.shared_by = GroupThatShares(embeddings);
    }
    const bool rows = !embeddings.batches.empty() && embeddings.batches.front().shape.size() >= 2;
    const Calls& source = rows ? embeddings : convolutions;
    if (!source.batches.empty()) {
      batch.samples = PerStep(Begun(source), [](const TensorDesc& of) { return of.shape.front(); });
      batch.samples_from = fmt::format("first dimension of what {}, node {}, is given", source.name,
                                       source.first_node);
    }
    return batch;
  }

 private:
  [[nodiscard]] Calls Collect(OpClass op_class, std::size_t weight_at, std::size_t batch_at) const {
    Calls calls;
    for (Index i = 0; i < graph_.size(); ++i) {
      if (phases_[i] != Phase::kForward || graph_.op_class(i) != op_class ||
          graph_.kind(i) != OpKind::kWork) {
        continue;
      }
      const auto call = graph_.Call(i);
      const TensorDesc* weight = call ? call->InputTensor(weight_at) : nullptr;
      const TensorDesc* batch = call ? call->InputTensor(batch_at) : nullptr;
      if (weight == nullptr || batch == nullptr || batch->shape.empty() ||
          (op_class == OpClass::kEmbedding && call->name != "aten::embedding")) {
        continue;
      }
      if (calls.batches.empty()) {
        calls.name = call->name;
        calls.first_node = graph_.id(i);
        calls.weight = weight->incarnation;
      }
      if (calls.weight == weight->incarnation) {
        calls.batches.push_back(*batch);
      }
    }
    return calls;
  }

  // A loop that generates calls for the same samples again, one token at a time. Their first call
  // counts, with more tokens; without one, one of them does. A training step has no such loop.
  [[nodiscard]] Calls Begun(const Calls& calls) const {
    const auto single = [](const TensorDesc& of) {
      return of.shape.size() >= 2 && of.elements == of.shape.front();
    };
    if (std::ranges::find(phases_, Phase::kBackward) != phases_.end() ||
        std::ranges::none_of(calls.batches, single)) {
      return calls;
    }
    Calls begun = calls;
    std::erase_if(begun.batches, single);
    if (begun.batches.empty()) {
      begun.batches.assign(steps_.size(), calls.batches.front());
    }
    return begun;
  }

  template <typename Size>
  [[nodiscard]] std::int64_t PerStep(const Calls& calls, const Size& size) const {
    std::int64_t total = 0;
    for (const TensorDesc& batch : calls.batches) {
      total += size(batch);
    }
    return total / static_cast<std::int64_t>(steps_.size());
  }

  // Partial results for every token are summed before the backward pass begins.
  [[nodiscard]] std::string GroupThatShares(const Calls& embeddings) const {
    std::int64_t tokens = 0;
    for (const TensorDesc& ids : embeddings.batches) {
      tokens = std::max(tokens, ids.elements);
    }
    std::set<std::int32_t> in_backward;  // steps
    for (Index i = 0; i < graph_.size(); ++i) {
      if (phases_[i] == Phase::kBackward) {
        in_backward.insert(graph_.step(i));
      }
      const CommSpec* spec = graph_.comm(i);
      const bool sums = spec != nullptr && (spec->kind == CommKind::kAllReduce ||
                                            spec->kind == CommKind::kReduceScatter);
      if (sums && !in_backward.contains(graph_.step(i)) &&
          spec->in_bytes >= tokens * std::max(SizeOf(spec->dtype), 1)) {
        return spec->group;
      }
    }
    return {};
  }

  const Graph& graph_;
  const std::vector<Phase>& phases_;
  std::set<std::int32_t> steps_;
};

}  // namespace

StepBatch FindStepBatch(const Graph& graph, const std::vector<Phase>& phases) {
  return BatchFinder(graph, phases).Find();
}

}  // namespace reprise
