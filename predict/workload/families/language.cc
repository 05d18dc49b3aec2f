// Families of language models: they differ in norms, biases, positions and feed-forward alone.
#include <memory>
#include <vector>

#include "predict/workload/families/transformer.h"
#include "predict/workload/routing.h"

namespace reprise {
namespace {

Parameter* EmbeddingOf(const Units& first_units) {
  return dynamic_cast<TokenEmbedding&>(*first_units.front()).tokens();
}

Units LanguageUnits(const Workload& w, const ModelPart& part, const Place& /*place*/) {
  Units units;
  Parameter* shared = nullptr;
  if (part.first && !w.layers_only) {
    auto embedding = std::make_unique<TokenEmbedding>(w);
    units.push_back(std::move(embedding));
  }
  AddLayers(w, part, units);
  if (part.last && !w.layers_only) {
    const Units* const first_units = part.first ? &units : part.first_units;
    if (w.model.EmbeddingAtBothEnds() && first_units != nullptr) {
      shared = EmbeddingOf(*first_units);
    }
    units.push_back(std::make_unique<LanguageHead>(w, shared));
  }
  for (const auto& unit : units) {
    for (Parameter& parameter : unit->parameters) {
      parameter.frozen = w.lora && !parameter.adapter;
    }
  }
  return units;
}

std::vector<std::int64_t> LanguageHiddenShape(const Workload& w) {
  return ActivationShape(w, OuterSequence(w), w.model.hidden);
}

// Context-parallel ranks have other parts of the sequence, unless each has all of it for a part of
// the heads; uneven experts get other numbers of tokens.
std::int64_t LanguageVariant(const Workload& w, const Place& place) {
  const std::int64_t tokens = InnerSequence(w) * w.micro_batch;
  const bool alike = w.layout.etp > 0 || EvenRouting(w, tokens);  // etp: a rule
  const std::int64_t expert = alike ? 0 : place.dp % w.layout.ep;
  const bool whole = w.layout.cp_comm_type == ContextComm::kAllToAll;
  return expert * w.layout.cp + (whole ? 0 : place.cp);
}

ModelFamily LanguageFamily(std::string_view name, void (*set_defaults)(ModelShape&)) {
  return {.name = name,
          .set_defaults = set_defaults,
          .complete = CompleteTransformer,
          .check = CheckTransformer,
          .units = LanguageUnits,
          .hidden_shape = LanguageHiddenShape,
          .variant = LanguageVariant};
}

void SetLlamaDefaults(ModelShape& m) {
  m.rms_norm = m.rotary = m.gated_ffn = true;
  m.bias = m.tied_embeddings = false;
}

}  // namespace

// GPT-2, GPT-3, Megatron: layer norm, biases, learned positions, GELU (Radford et al. 2019; Brown
// et al. 2020, arXiv 2005.14165; Megatron-LM).
ModelFamily GptFamily() {
  return LanguageFamily("gpt", [](ModelShape&) {});
}

// RMS norm, rotary positions, gated feed-forward, grouped queries (Llama 2 and 3, arXiv 2307.09288,
// 2407.21783).
ModelFamily LlamaFamily() { return LanguageFamily("llama", SetLlamaDefaults); }

// Llama's layers with a router and experts in place of one feed-forward block (arXiv 2401.04088).
ModelFamily MixtralFamily() {
  return LanguageFamily("mixtral", [](ModelShape& m) {
    SetLlamaDefaults(m);
    m.experts = 8;
    m.top_k = 2;
  });
}

// Llama's layers with norms of queries and keys, no biases, and many small experts, whose shares
// add up to 1, in its larger models (Qwen3, arXiv 2505.09388).
ModelFamily Qwen3Family() {
  return LanguageFamily("qwen3", [](ModelShape& m) {
    SetLlamaDefaults(m);
    m.qk_norm = m.normalized_gates = m.grouped_experts = true;
  });
}

// Latent attention, many small experts beside a shared one, chosen by balanced sigmoids from some
// groups, and a prediction of more than one token (DeepSeek-V3, arXiv 2412.19437).
ModelFamily DeepseekFamily() {
  return LanguageFamily("deepseek", [](ModelShape& m) {
    SetLlamaDefaults(m);
    m.router_scores = "sigmoid";
    m.normalized_gates = m.grouped_experts = true;
  });
}

// Windows in every other layer, scores for no key at all, biases everywhere, experts (GPT-OSS,
// arXiv 2508.10925).
ModelFamily GptOssFamily() {
  return LanguageFamily("gpt-oss", [](ModelShape& m) {
    SetLlamaDefaults(m);
    m.bias = m.router_bias = m.sinks = m.grouped_experts = true;
    m.activation = "clamped_silu";
    m.full_attention_every = 2;
  });
}

// Layer norm, rotary positions of half a head, squared ReLU, no biases (Nemotron-4, arXiv
// 2402.16819, 2406.11704).
ModelFamily NemotronFamily() {
  return LanguageFamily("nemotron", [](ModelShape& m) {
    m.rotary = true;
    m.bias = m.tied_embeddings = false;
    m.activation = "relu2";
  });
}

// GPT's layers; a bias of scores by distance in place of positions, a norm behind the embedding
// (BLOOM, arXiv 2211.05100).
ModelFamily BloomFamily() {
  return LanguageFamily("bloom", [](ModelShape& m) {
    m.alibi = m.embedding_norm = true;
    m.fused_attention = false;
  });
}

}  // namespace reprise
