// The parts of a transformer's layer: attention, feed-forward block, and what makes their matrices.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "predict/workload/parallel/expert.h"
#include "predict/workload/parameters.h"

namespace reprise {

// How tensor-parallel ranks share a matrix: columns of the result, rows of what it multiplies, or
// each has all of it and multiplies its part of the sequence.
enum class Division : std::uint8_t { kColumns, kRows, kWhole };
// `rows` by `columns`: this rank's. With a bias: divided with the columns, else added whole.
[[nodiscard]] WeightAndBias NewLinear(Unit& unit, const Workload& workload, std::int64_t rows,
                                      std::int64_t columns, Division division, bool bias);
// An adapter of such a matrix, if the job has one for `target` (kLoraTargets); else none.
[[nodiscard]] LoraAdapter NewAdapter(Unit& unit, const Workload& workload, std::string_view target,
                                     std::int64_t rows, std::int64_t columns, Division division);
// A norm of the family's kind over `size` numbers; without a bias: RMS norm. `whole`: what it takes
// is a part of the sequence where that is divided, of every head.
[[nodiscard]] WeightAndBias NewNorm(Unit& unit, const Workload& workload, std::int64_t size);
[[nodiscard]] Var Norm(Builder& b, const Var& x, const WeightAndBias& norm);

// What a layer adds to its residual stream.
class LayerPart {
 public:
  LayerPart() = default;
  virtual ~LayerPart() = default;
  LayerPart(const LayerPart&) = delete;
  LayerPart& operator=(const LayerPart&) = delete;
  // x: after the layer's norm, as divided as the residual stream is; the result, too.
  [[nodiscard]] virtual Var Forward(Builder& b, const Var& x) = 0;
  // Added to the result where tensor-parallel ranks have summed it; null: none is left to add.
  [[nodiscard]] virtual Parameter* BiasLeft(const Workload& workload) const = 0;
};

// Of layer `number` of the model; their parameters are the unit's. Attention with heads of queries,
// keys and values.
[[nodiscard]] std::unique_ptr<LayerPart> NewAttention(Unit& unit, const Workload& workload,
                                                      std::int64_t number);
// Latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1).
[[nodiscard]] std::unique_ptr<LayerPart> NewLatentAttention(Unit& unit, const Workload& workload);
// Dense, or with experts.
[[nodiscard]] std::unique_ptr<LayerPart> NewFeedForward(Unit& unit, const Workload& workload,
                                                        std::int64_t number);

// Norm and attention, norm and feed-forward block, each added to the residual stream.
class LayerBody {
 public:
  LayerBody(Unit& unit, const Workload& workload, std::int64_t number);
  [[nodiscard]] Var Forward(Builder& b, const Var& x);

 private:
  WeightAndBias norm1_;
  std::unique_ptr<LayerPart> attention_;
  WeightAndBias norm2_;
  std::unique_ptr<LayerPart> feed_forward_;
};

// Computes a part of a layer, again in the backward pass if the job recomputes it: `module` of
// kRecomputeModules.
[[nodiscard]] Var ComputeModule(Builder& b, std::string_view module, const std::vector<Var>& inputs,
                                const std::function<Var(const std::vector<Var>&)>& function);

// What the kinds of attention share. q, k, v: (batch, heads, tokens, features); the result has the
// heads behind the tokens, in one dimension. `window`: 0: none.
[[nodiscard]] Var AttentionOfHeads(Builder& b, const Var& q, const Var& k, const Var& v,
                                   std::int64_t window, Parameter* sinks = nullptr);
// Tokens by heads by features, as activations are: their rotary positions, if the model has them.
[[nodiscard]] Var TurnByPosition(Builder& b, const Var& x, std::int64_t size);
// Heads before tokens: what attention takes.
[[nodiscard]] Var HeadsFirst(Builder& b, const Var& x);
// The last linear layer of a part.
[[nodiscard]] Var LastLinear(Builder& b, const Var& x, const WeightAndBias& weights);

}  // namespace reprise
