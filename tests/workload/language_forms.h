// Closed forms of language models: parameters, FLOPs and the bytes of transfers. Nothing here calls
// the generator's own arithmetic.
#pragma once

#include <algorithm>
#include <cstdint>

#include "predict/workload/description.h"
#include "tests/workload/gradient_transfers.h"

namespace reprise {

// Elements of one layer, or of embedding and head.
struct Elements {
  std::int64_t whole = 0;    // of the model
  std::int64_t dense = 0;    // that a rank holds, reduced among data-parallel ranks
  std::int64_t experts = 0;  // that a rank holds, reduced among replicas of its experts
  std::int64_t active = 0;   // that a token multiplies
  std::int64_t summed = 0;   // whole on each tensor-parallel rank, with a part of its gradient

  void Add(const Elements& other) {
    whole += other.whole;
    dense += other.dense;
    experts += other.experts;
    active += other.active;
    summed += other.summed;
  }
};

struct LayerForm {
  const Workload& w;
  const ModelShape& m = w.model;
  const Layout& l = w.layout;
  std::int64_t h = m.hidden, t = l.tp;
  std::int64_t batches = w.global_batch / (l.dp * w.micro_batch);
  std::int64_t width = m.dtype == DType::kFloat32 ? 4 : 2;
  std::int64_t tokens = m.sequence * w.micro_batch;
  std::int64_t stage_ranks = l.tp * l.dp;
  bool sp = l.sequence_parallel;

  // A matrix divided among tensor-parallel ranks, with a bias of `bias` numbers that is divided,
  // too.
  [[nodiscard]] Elements Divided(std::int64_t size, std::int64_t bias = 0) const {
    return {.whole = size + bias, .dense = (size + bias) / t, .active = size};
  }
  // On each rank: what takes a part of the sequence has a part of the gradient.
  [[nodiscard]] Elements Whole(std::int64_t size, bool multiplies,
                               bool always_summed = false) const {
    return {.whole = size,
            .dense = size,
            .active = multiplies ? size : 0,
            .summed = t > 1 && (sp || always_summed) ? size : 0};
  }
  [[nodiscard]] Elements NormOf(std::int64_t size) const {
    return Whole(m.rms_norm ? size : 2 * size, false);
  }

  [[nodiscard]] Elements Attention() const {
    Elements sum;
    if (m.kv_rank > 0) {
      if (m.q_rank > 0) {
        sum.Add(Whole(h * m.q_rank, true));
        sum.Add(NormOf(m.q_rank));
      }
      sum.Add(Divided((m.q_rank > 0 ? m.q_rank : h) * m.heads * m.head_size));
      sum.Add(Whole(h * (m.kv_rank + m.rotary_size), true));
      sum.Add(NormOf(m.kv_rank));
      sum.Add(Divided(m.kv_rank * m.heads * (m.head_size - m.rotary_size + m.value_size)));
      sum.Add(Divided(m.heads * m.value_size * h));
      return sum;
    }
    const std::int64_t heads = (m.heads + 2 * m.kv_heads) * m.head_size;
    sum.Add(Divided(h * heads, m.qkv_bias.value_or(m.bias) ? heads : 0));
    sum.Add(Divided(m.heads * m.head_size * h));
    if (m.out_bias.value_or(m.bias)) {
      sum.Add(Whole(h, false));
    }
    if (m.qk_norm) {
      sum.Add(Whole(2 * m.head_size, false, true));
    }
    if (m.sinks) {
      sum.Add({.whole = m.heads, .dense = m.heads / t});
    }
    return sum;
  }

  // Up and down to `inner` numbers.
  [[nodiscard]] Elements Block(std::int64_t inner) const {
    const std::int64_t up = (m.gated_ffn ? 2 : 1) * inner;
    Elements sum = Divided(h * up + inner * h, m.bias ? up : 0);
    if (m.bias) {
      sum.Add(Whole(h, false));
    }
    return sum;
  }

  [[nodiscard]] bool HasExperts(std::int64_t layer) const {
    return m.experts > 0 && layer >= m.dense_layers && (layer + 1) % m.experts_every == 0;
  }
  [[nodiscard]] Elements FeedForward(std::int64_t layer) const {
    if (!HasExperts(layer)) {
      return Block(m.dense_ffn > 0 ? m.dense_ffn : m.ffn);
    }
    Elements sum = Whole(h * m.experts, true, true);
    if (m.router_bias) {
      sum.Add(Whole(m.experts, false, true));
    }
    const Elements one = Block(m.ffn);
    const std::int64_t held = m.experts / l.ep * one.dense;
    sum.Add({.whole = m.experts * one.whole,
             .dense = l.ep == 1 ? held : 0,
             .experts = l.ep > 1 ? held : 0,
             .active = m.top_k * one.active});
    if (m.shared_ffn > 0) {
      sum.Add(Block(m.shared_ffn));
    }
    return sum;
  }
  [[nodiscard]] Elements OfLayer(std::int64_t layer) const {
    Elements sum = NormOf(h);
    sum.Add(NormOf(h));
    sum.Add(Attention());
    sum.Add(FeedForward(layer));
    return sum;
  }
  [[nodiscard]] Elements Embedding() const {
    Elements sum = Divided(m.vocab * h);
    sum.active = 0;
    if (m.embedding_norm) {
      sum.Add(NormOf(h));
    }
    return sum;
  }
  [[nodiscard]] Elements Head() const {
    Elements sum = NormOf(h);
    Elements words = Divided(m.vocab * h);
    if (m.tied_embeddings) {
      words.whole = 0;
      words.dense = l.pp > 1 ? words.dense : 0;
    }
    sum.Add(words);
    return sum;
  }
  [[nodiscard]] std::int64_t Parameters() const {
    std::int64_t sum = Embedding().whole + Head().whole;
    for (std::int64_t layer = 0; layer < m.layers; ++layer) {
      sum += OfLayer(layer).whole;
    }
    return sum;
  }
  [[nodiscard]] std::int64_t ModelFlops() const {
    const std::int64_t all = w.global_batch * m.sequence;
    std::int64_t forward = 2 * all * m.vocab * h;
    for (std::int64_t layer = 0; layer < m.layers; ++layer) {
      const bool full = m.window == 0 ||
                        (m.full_attention_every > 0 && (layer + 1) % m.full_attention_every == 0);
      const std::int64_t keys = full ? m.sequence : std::min(m.sequence, m.window);
      const std::int64_t values = m.kv_rank > 0 ? m.value_size : m.head_size;
      forward +=
          2 * all * OfLayer(layer).active + 2 * all * keys * m.heads * (m.head_size + values);
    }
    return 3 * forward;
  }

  // Matrices of a dense model's layer that a rank has.
  [[nodiscard]] std::int64_t Matrices() const {
    return (h * (m.heads + 2 * m.kv_heads) * m.head_size + m.heads * m.head_size * h +
            (m.gated_ffn ? 3 : 2) * h * m.ffn) /
           t;
  }
  [[nodiscard]] std::int64_t StageOf(std::int64_t layer) const { return layer / (m.layers / l.pp); }
  [[nodiscard]] Elements OnRank(std::int64_t stage) const {
    Elements sum;
    for (std::int64_t layer = 0; layer < m.layers; ++layer) {
      if (StageOf(layer) == stage) {
        sum.Add(OfLayer(layer));
      }
    }
    if (stage == 0) {
      sum.Add(Embedding());
    }
    if (stage == l.pp - 1) {
      sum.Add(Head());
    }
    return sum;
  }

  // Forward and, with full recomputation, forward again.
  [[nodiscard]] std::int64_t Forwards() const { return w.recompute == Recompute::kFull ? 2 : 1; }
  [[nodiscard]] bool Again(const char* module) const {
    return std::ranges::find(w.recompute_modules, module) != w.recompute_modules.end();
  }
  // Of a layer's feed-forward block.
  [[nodiscard]] std::int64_t BlockForwards(std::int64_t layer) const {
    return Forwards() + (Again(HasExperts(layer) ? "moe" : "mlp") ? 1 : 0);
  }
  [[nodiscard]] std::int64_t AllBlockForwards() const {
    std::int64_t sum = 0;
    for (std::int64_t layer = 0; layer < m.layers; ++layer) {
      sum += BlockForwards(layer);
    }
    return sum;
  }
  // What the modules compute once more. A router's product is each tensor-parallel rank's.
  [[nodiscard]] std::int64_t FlopsAgain() const {
    const std::int64_t all = w.global_batch * m.sequence;
    std::int64_t sum = 0;
    for (std::int64_t layer = 0; layer < m.layers; ++layer) {
      const bool full = m.window == 0 ||
                        (m.full_attention_every > 0 && (layer + 1) % m.full_attention_every == 0);
      const std::int64_t keys = full ? m.sequence : std::min(m.sequence, m.window);
      const std::int64_t values = m.kv_rank > 0 ? m.value_size : m.head_size;
      if (Again("core_attn")) {
        sum += 2 * all * keys * m.heads * (m.head_size + values);
      }
      if (Again(HasExperts(layer) ? "moe" : "mlp")) {
        sum += 2 * all * FeedForward(layer).active;
        sum += HasExperts(layer) ? 2 * all * h * m.experts * (t - 1) : 0;
      } else if (HasExperts(layer) && Again("shared_experts")) {
        sum += 2 * all * Block(m.shared_ffn).active;
      }
    }
    return sum;
  }

  void AddTensorParallel(TransferBytes& bytes) const {
    if (t == 1) {
      return;
    }
    const std::int64_t passes = stage_ranks * batches * width * tokens;
    // Numbers of a token that enter the divided layers, and those that a product takes.
    const std::int64_t latent = (m.q_rank > 0 ? m.q_rank : h) + m.kv_rank;
    const std::int64_t enters = m.kv_rank > 0 ? latent + m.rotary_size : h;
    const std::int64_t multiplied = m.kv_rank > 0 ? latent : h;
    if (sp) {
      // Forward; gradients; inputs again.
      const std::int64_t gathered = Forwards() * enters + 2 * h + (multiplied + h);
      const std::int64_t scattered = Forwards() * h + enters + h;
      const std::int64_t blocks = AllBlockForwards() * h;
      bytes[{"all_gather", "tp"}] += passes * (m.layers * gathered + blocks + 3 * h);
      bytes[{"reduce_scatter", "tp"}] += passes * (m.layers * scattered + blocks + 2 * h);
    } else {
      bytes[{"all_reduce", "tp"}] +=
          passes * (m.layers * (Forwards() * h + enters + h) + AllBlockForwards() * h + 2 * h);
    }
    bytes[{"all_reduce", "tp"}] += stage_ranks * batches * 3 * tokens * 4;  // the loss
  }

  // What stages send to each other, and ranks that share experts.
  void AddPipelineAndExperts(TransferBytes& bytes) const {
    for (const char* kind : {"send", "recv"}) {
      if (l.pp > 1) {
        bytes[{kind, "pp"}] +=
            2 * (l.pp - 1) * stage_ranks * batches * tokens * h * width / (sp ? t : 1);
      }
    }
    for (std::int64_t layer = 0; layer < m.layers && l.ep > 1; ++layer) {
      if (HasExperts(layer)) {
        bytes[{"all_to_all", "ep"}] +=
            stage_ranks * batches * (2 * BlockForwards(layer) + 2) * tokens * m.top_k * h * width;
        bytes[{"all_gather", "ep"}] +=
            stage_ranks * batches * BlockForwards(layer) * l.ep * m.experts * 8;
      }
    }
  }
  [[nodiscard]] TransferBytes Transfers() const {
    TransferBytes bytes;
    const auto held = [this](std::int64_t stage) {
      const Elements all = OnRank(stage);
      return HeldElements{all.dense, all.experts};
    };
    AddGradientTransfers(w, width, held, bytes);
    for (std::int64_t stage = 0; stage < l.pp; ++stage) {
      if (const std::int64_t summed = OnRank(stage).summed; summed > 0) {
        bytes[{"all_reduce", "tp"}] += stage_ranks * summed * 4 / ShardsOf(l);
      }
    }
    AddTensorParallel(bytes);
    AddPipelineAndExperts(bytes);
    return bytes;
  }
};

}  // namespace reprise
