// Closed forms of language models whose weights are frozen beside low-rank adapters. Nothing here
// calls the generator's own arithmetic.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/workload/language_forms.h"

namespace reprise {

// B A beside a matrix of `outputs` by `inputs`.
struct AdapterForm {
  std::int64_t inputs = 0, outputs = 0;
};

struct LoraForm : LayerForm {
  explicit LoraForm(const Workload& of) : LayerForm{of} {}

  std::int64_t r = w.lora->rank;
  std::int64_t all = w.global_batch * m.sequence;  // tokens of a step
  // What attention makes of a token's heads.
  std::int64_t q = m.heads * (m.kv_rank > 0 ? m.value_size : m.head_size);
  std::int64_t kv = m.kv_heads * m.head_size;
  std::int64_t f = m.dense_ffn > 0 ? m.dense_ffn : m.ffn;

  [[nodiscard]] bool On(const char* target) const {
    return std::ranges::find(w.lora->targets, target) != w.lora->targets.end();
  }
  // In front of attention, of layers that are divided by columns.
  [[nodiscard]] std::vector<AdapterForm> Before() const {
    std::vector<AdapterForm> made;
    if (On("linear_qkv") && m.fused_qkv) {
      return {{h, q + 2 * kv}};
    }
    for (const auto& [name, outputs] :
         {std::pair("linear_q", q), std::pair("linear_k", kv), std::pair("linear_v", kv)}) {
      if (On("linear_qkv") || On(name)) {
        made.push_back({h, outputs});
      }
    }
    return made;
  }
  [[nodiscard]] std::vector<AdapterForm> Behind() const {
    return On("linear_proj") ? std::vector<AdapterForm>{{q, h}} : std::vector<AdapterForm>{};
  }
  [[nodiscard]] std::vector<AdapterForm> Into() const {
    std::vector<AdapterForm> made;
    if (On("linear_fc1")) {
      return {{h, (m.gated_ffn ? 2 : 1) * f}};
    }
    for (const char* half : {"linear_fc1_gate", "linear_fc1_up"}) {
      if (On(half)) {
        made.push_back({h, f});
      }
    }
    return made;
  }
  [[nodiscard]] std::vector<AdapterForm> OutOf() const {
    return On("linear_fc2") ? std::vector<AdapterForm>{{f, h}} : std::vector<AdapterForm>{};
  }
  [[nodiscard]] std::int64_t SizeOf(const std::vector<AdapterForm>& adapters) const {
    std::int64_t sum = 0;
    for (const AdapterForm& one : adapters) {
      sum += r * (one.inputs + one.outputs);
    }
    return sum;
  }
  [[nodiscard]] std::int64_t TrainedOfLayer() const {
    return SizeOf(Before()) + SizeOf(Behind()) + SizeOf(Into()) + SizeOf(OutOf());
  }
  [[nodiscard]] std::int64_t Trained() const { return m.layers * TrainedOfLayer(); }
  // Both matrices are divided among tensor-parallel ranks.
  [[nodiscard]] std::int64_t TrainedOnRank() const { return Trained() / l.pp / t; }
  // FSDP divides the first dimension, and pads it.
  [[nodiscard]] std::int64_t PaddedOnRank() const {
    const auto padded = [this](std::int64_t rows) {
      const std::int64_t shards = ShardsOf(l);
      return (rows + shards - 1) / shards * shards;
    };
    std::int64_t sum = 0;
    for (const auto& adapters : {Before(), Behind(), Into(), OutOf()}) {
      for (const AdapterForm& one : adapters) {
        sum += padded(r) * one.inputs + padded(one.outputs) * r;
      }
    }
    return m.layers / l.pp * sum;
  }

  // Whether a layer's input, what follows attention, and what leaves the block's first matrix have
  // gradients: those of later layers; of the first one where an adapter is in front of it, or where
  // it is computed again.
  [[nodiscard]] bool InputHas(std::int64_t layer) const {
    return layer > 0 || w.recompute == Recompute::kFull;
  }
  [[nodiscard]] bool AttentionHas(std::int64_t layer) const {
    return InputHas(layer) || !Before().empty();
  }
  [[nodiscard]] bool BlockInputHas(std::int64_t layer) const {
    return AttentionHas(layer) || !Behind().empty() || Again("mlp");
  }
  [[nodiscard]] bool BlockHas(std::int64_t layer) const {
    return BlockInputHas(layer) || !Into().empty();
  }

  [[nodiscard]] std::int64_t Keys(std::int64_t layer) const {
    const bool full =
        m.window == 0 || (m.full_attention_every > 0 && (layer + 1) % m.full_attention_every == 0);
    return full ? m.sequence : std::min(m.sequence, m.window);
  }
  [[nodiscard]] std::int64_t Scores(std::int64_t layer) const {
    return 2 * all * Keys(layer) * m.heads * m.head_size;
  }
  [[nodiscard]] std::int64_t Values(std::int64_t layer) const { return 2 * all * Keys(layer) * q; }
  [[nodiscard]] std::int64_t AttentionBackward(std::int64_t layer) const {
    if (!AttentionHas(layer)) {
      return 0;
    }
    if (m.fused_attention || InputHas(layer)) {
      return 2 * (Scores(layer) + Values(layer));
    }
    // One product for each operand that has a gradient.
    const bool queries = On("linear_qkv") || On("linear_q");
    const bool keys = On("linear_qkv") || On("linear_k");
    const bool values = On("linear_qkv") || On("linear_v");
    return Scores(layer) * ((queries ? 1 : 0) + (keys ? 1 : 0)) +
           Values(layer) * ((queries || keys ? 1 : 0) + (values ? 1 : 0));
  }
  [[nodiscard]] std::int64_t BlockForward(std::int64_t layer) const {
    return 2 * all * (FeedForward(layer).active + SizeOf(Into()) + SizeOf(OutOf()));
  }
  [[nodiscard]] std::int64_t LayerForward(std::int64_t layer) const {
    return 2 * all * (Attention().active + SizeOf(Before()) + SizeOf(Behind())) + Scores(layer) +
           Values(layer) + BlockForward(layer);
  }
  // Of an adapter: the gradients of its two matrices, of what lies between them, and of its input.
  [[nodiscard]] std::int64_t AdapterBackward(const std::vector<AdapterForm>& adapters,
                                             bool input) const {
    std::int64_t sum = 0;
    for (const AdapterForm& one : adapters) {
      sum += 2 * all * r * (one.inputs + 2 * one.outputs + (input ? one.inputs : 0));
    }
    return sum;
  }
  [[nodiscard]] std::int64_t LayerBackward(std::int64_t layer) const {
    const auto if_has = [this](bool has, std::int64_t size) { return has ? 2 * all * size : 0; };
    const std::int64_t last = HasExperts(layer) ? 0 : f * h;
    return if_has(InputHas(layer), Attention().active - q * h) + AttentionBackward(layer) +
           if_has(AttentionHas(layer), q * h) +
           if_has(BlockInputHas(layer), FeedForward(layer).active - last) +
           if_has(BlockHas(layer), last) + AdapterBackward(Before(), InputHas(layer)) +
           AdapterBackward(Behind(), AttentionHas(layer)) +
           AdapterBackward(Into(), BlockInputHas(layer)) +
           AdapterBackward(OutOf(), BlockHas(layer));
  }
  [[nodiscard]] std::int64_t LoraFlops() const {
    std::int64_t sum = 2 * 2 * all * m.vocab * h;  // the head, and the gradient of its input
    for (std::int64_t layer = 0; layer < m.layers; ++layer) {
      sum += LayerForward(layer) + LayerBackward(layer);
    }
    return sum;
  }
  // What is computed beside that: scores that fused attention computes again, and recomputation.
  [[nodiscard]] std::int64_t MoreFlops() const {
    std::int64_t sum = 0;
    for (std::int64_t layer = 0; layer < m.layers; ++layer) {
      sum += m.fused_attention && AttentionHas(layer) ? Scores(layer) : 0;
      sum += w.recompute == Recompute::kFull ? LayerForward(layer) : 0;
      const bool core = Again("core_attn") ||
                        (w.recompute == Recompute::kSelective && w.recompute_modules.empty());
      sum += core && AttentionHas(layer) ? Scores(layer) + Values(layer) : 0;
      sum += Again(HasExperts(layer) ? "moe" : "mlp") ? BlockForward(layer) : 0;
    }
    return sum;
  }

  // Bytes of a rank's tokens by `numbers`.
  [[nodiscard]] std::int64_t OfTokens(std::int64_t numbers) const {
    return stage_ranks * batches * width * tokens * numbers;
  }
  void AddAdapterTransfers(TransferBytes& bytes) const {
    for (std::int64_t layer = 0; layer < m.layers; ++layer) {
      const auto columns = [&](const std::vector<AdapterForm>& adapters, std::int64_t forwards,
                               bool input) {
        const auto count = static_cast<std::int64_t>(adapters.size());
        bytes[{"all_gather", "tp"}] += OfTokens(count * forwards * r);
        bytes[{"all_reduce", "tp"}] += OfTokens(count * (r + (input && !sp ? h : 0)));
      };
      const auto rows = [&](const std::vector<AdapterForm>& adapters, std::int64_t forwards) {
        const auto count = static_cast<std::int64_t>(adapters.size());
        bytes[{"all_reduce", "tp"}] += OfTokens(count * (forwards * r + r));
        bytes[{"all_gather", "tp"}] += OfTokens(count * (forwards * h + (sp ? h : 0)));
      };
      columns(Before(), Forwards(), InputHas(layer));
      rows(Behind(), Forwards());
      columns(Into(), BlockForwards(layer), BlockInputHas(layer));
      rows(OutOf(), BlockForwards(layer));
    }
  }
  // Nothing gathers an input again: no weight has a gradient for which it would be needed.
  void AddFrozenTransfers(TransferBytes& bytes) const {
    const std::int64_t latent = (m.q_rank > 0 ? m.q_rank : h) + m.kv_rank + m.rotary_size;
    const std::int64_t enters = m.kv_rank > 0 ? latent : h;
    const char* const in = sp ? "all_gather" : "none";
    const char* const out = sp ? "reduce_scatter" : "all_reduce";
    for (std::int64_t layer = 0; layer < m.layers; ++layer) {
      const std::int64_t block = BlockForwards(layer);
      bytes[{in, "tp"}] += OfTokens(Forwards() * enters + block * h);
      bytes[{out, "tp"}] += OfTokens((Forwards() + block) * h);
      bytes[{in, "tp"}] += OfTokens((AttentionHas(layer) ? h : 0) + (BlockHas(layer) ? h : 0));
      bytes[{out, "tp"}] +=
          OfTokens((InputHas(layer) ? enters : 0) + (BlockInputHas(layer) ? h : 0));
    }
    bytes[{in, "tp"}] += OfTokens(h);       // into the head
    bytes[{out, "tp"}] += OfTokens(2 * h);  // out of the embedding; of the head's input
    bytes.erase({"none", "tp"});
    bytes[{"all_reduce", "tp"}] += stage_ranks * batches * 3 * tokens * 4;  // the loss
  }
  void AddDataTransfers(TransferBytes& bytes) const {
    const std::int64_t replicas = l.dp;
    const bool everywhere = l.distributed_optimizer || l.fsdp || l.ep > 1;
    if ((everywhere ? l.ranks() : l.tp * l.pp) > 1) {
      bytes[{"all_reduce", "norm"}] += l.ranks() * 4;
    }
    for (std::int64_t stage = 0; stage < l.pp; ++stage) {
      const std::int64_t size = (TrainedOnRank() + replicas - 1) / replicas * replicas;
      const Elements frozen = OnRank(stage);
      if (l.fsdp) {
        // The embedding has no backward pass.
        const std::int64_t once = stage == 0 ? Embedding().dense : 0;
        const auto gather = [&](const char* group, std::int64_t elements, std::int64_t ranks) {
          if (ranks > 1 && elements > 0) {
            bytes[{"all_gather", group}] += stage_ranks * batches * elements * width;
          }
        };
        gather("dp", 2 * (frozen.dense + PaddedOnRank()) - once, replicas);
        gather("edp", 2 * frozen.experts, replicas / l.ep);
        if (replicas > 1) {
          bytes[{"reduce_scatter", "dp"}] += stage_ranks * batches * PaddedOnRank() * 4;
        }
      } else if (replicas > 1 && l.distributed_optimizer) {
        bytes[{"reduce_scatter", "dp"}] +=
            stage_ranks * size * 4 * (l.divided_gradients ? batches : 1);
        bytes[{"all_gather", "dp"}] += stage_ranks * size * width;
      } else if (replicas > 1) {
        bytes[{"all_reduce", "dp"}] += stage_ranks * TrainedOnRank() * 4;
      }
    }
  }
  [[nodiscard]] TransferBytes LoraTransfers() const {
    TransferBytes bytes;
    AddDataTransfers(bytes);
    if (t > 1) {
      AddFrozenTransfers(bytes);
      AddAdapterTransfers(bytes);
      std::erase_if(bytes, [](const auto& row) { return row.second == 0; });
    }
    AddPipelineAndExperts(bytes);
    return bytes;
  }
};

}  // namespace reprise
