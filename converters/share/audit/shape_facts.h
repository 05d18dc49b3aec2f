// What shapes and transfers alone reveal of a model: no policy that allows replay can hide it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "et_schema/node.h"
#include "et_schema/trace_set.h"

namespace reprise {

struct ShapeFact {
  std::string name;        // "hidden size", "layers", …
  std::int64_t value = 0;  // the most common, or the count
  std::string from;        // where it was read
};

// Collects nodes of all ranks. Not thread-safe. Facts are conclusions from common architectures'
// forms, not certain; a reader of the trace can draw the same.
class ShapeFacts {
 public:
  void AddRank(const TraceMetadata& metadata);
  void Add(const Node& node);
  [[nodiscard]] std::vector<ShapeFact> Facts(const TraceSet& set) const;

 private:
  using Votes = std::map<std::int64_t, std::uint64_t>;  // size → how often
  struct Gemm {
    std::int64_t k = 0, n = 0;
    auto operator<=>(const Gemm&) const = default;
  };

  void AddEmbedding(const std::vector<const TensorDesc*>& tensors);
  void AddAttention(const Node& node, const std::vector<const TensorDesc*>& tensors);
  void AddGemm(const std::vector<const TensorDesc*>& tensors);
  void AddOptimizer(const Node& node);
  void AddTransfer(const Node& node);
  void ModelFacts(std::vector<ShapeFact>& facts) const;
  void ParallelFacts(const TraceSet& set, std::vector<ShapeFact>& facts) const;
  [[nodiscard]] std::int64_t PerStep(const std::map<std::int32_t, std::uint64_t>& by_rank) const;

  std::int32_t rank_ = 0;
  std::int64_t steps_ = 1;
  Votes hidden_, heads_, head_size_, batch_, sequence_, vocabulary_, channels_;
  std::map<Gemm, std::uint64_t> gemms_;
  std::map<std::int32_t, std::uint64_t> attentions_, attention_gradients_, convolutions_;
  std::map<std::int32_t, std::int64_t> parameters_;
  std::map<std::string, std::map<CommKind, std::uint64_t>> groups_;
  std::map<std::int32_t, std::set<std::int32_t>> peers_;
};

}  // namespace reprise
