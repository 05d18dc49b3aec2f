// Families of language models: they differ in norms, biases, positions and feed-forward alone.
#include <memory>
#include <vector>

#include "predict/workload/families/transformer.h"
#include "predict/workload/routing.h"

namespace reprise {
namespace {

Units LanguageUnits(const Workload& w, const ModelPart& part, const Place& /*place*/) {
  Units units;
  Parameter* shared = nullptr;
  if (part.first && !w.layers_only) {
    auto embedding = std::make_unique<TokenEmbedding>(w);
    if (w.model.tied_embeddings && w.layout.pp == 1) {
      shared = embedding->tokens();
    }
    units.push_back(std::move(embedding));
  }
  AddLayers(w, part, units);
  if (part.last && !w.layers_only) {
    units.push_back(std::make_unique<LanguageHead>(w, shared));
  }
  return units;
}

std::vector<std::int64_t> LanguageHiddenShape(const Workload& w) {
  return ActivationShape(w, OuterSequence(w), w.model.hidden);
}

// Ring neighbours stand at other positions; uneven experts get other numbers of tokens.
std::int64_t LanguageVariant(const Workload& w, const Place& place) {
  const std::int64_t tokens = InnerSequence(w) * w.micro_batch;
  const std::int64_t expert = EvenRouting(w, tokens) ? 0 : place.dp % w.layout.ep;
  return expert * w.layout.cp + place.cp;
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

}  // namespace reprise
