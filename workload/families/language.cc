// Families of language models: they differ in norms, biases, positions and feed-forward alone.
#include <memory>
#include <string_view>
#include <vector>

#include "workload/families/transformer.h"
#include "workload/routing.h"

namespace reprise {
namespace {

class LanguageFamily final : public ModelFamily {
 public:
  LanguageFamily(std::string_view name, std::string_view help, void (*set_defaults)(ModelShape&))
      : name_(name), help_(help), set_defaults_(set_defaults) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view help() const override { return help_; }
  void SetDefaults(ModelShape& m) const override { set_defaults_(m); }
  void Complete(Workload& w) const override { CompleteTransformer(w.model); }
  [[nodiscard]] Status Check(const Workload& w) const override { return CheckTransformer(w); }

  [[nodiscard]] std::vector<std::unique_ptr<Unit>> Units(const Workload& w, const ModelPart& part,
                                                         const Place&) const override {
    std::vector<std::unique_ptr<Unit>> units;
    Parameter* shared = nullptr;
    if (part.first && !w.layers_only) {
      auto embedding = std::make_unique<TokenEmbedding>(w);
      if (w.model.tied_embeddings && w.layout.pp == 1) {
        shared = embedding->tokens();
      }
      units.push_back(std::move(embedding));
    }
    for (std::int64_t i = 0; i < part.layers; ++i) {
      units.push_back(std::make_unique<TransformerLayer>(w, part.first_layer + i));
    }
    if (part.last && !w.layers_only) {
      units.push_back(std::make_unique<LanguageHead>(w, shared));
    }
    return units;
  }

  [[nodiscard]] std::vector<std::int64_t> HiddenShape(const Workload& w) const override {
    return ActivationShape(w, OuterSequence(w), w.model.hidden);
  }

  // Ring neighbours stand at other positions; uneven experts get other numbers of tokens.
  [[nodiscard]] std::int64_t Variant(const Workload& w, const Place& place) const override {
    const std::int64_t tokens = InnerSequence(w) * w.micro_batch;
    const std::int64_t expert = EvenRouting(w, tokens) ? 0 : place.dp % w.layout.ep;
    return expert * w.layout.cp + place.cp;
  }

 private:
  std::string_view name_, help_;
  void (*set_defaults_)(ModelShape&);
};

void SetLlamaDefaults(ModelShape& m) {
  m.rms_norm = m.rotary = m.gated_ffn = true;
  m.bias = m.tied_embeddings = false;
}

}  // namespace

// Radford et al. 2019; Brown et al. 2020, arXiv 2005.14165; Megatron-LM.
std::unique_ptr<ModelFamily> MakeGpt() {
  return std::make_unique<LanguageFamily>(
      "gpt", "GPT-2, GPT-3, Megatron: layer norm, biases, learned positions, GELU",
      [](ModelShape&) {});
}

// Llama 2 and 3 (arXiv 2307.09288, 2407.21783).
std::unique_ptr<ModelFamily> MakeLlama() {
  return std::make_unique<LanguageFamily>(
      "llama", "Llama: RMS norm, rotary positions, gated feed-forward, grouped queries",
      &SetLlamaDefaults);
}

// arXiv 2401.04088.
std::unique_ptr<ModelFamily> MakeMixtral() {
  return std::make_unique<LanguageFamily>(
      "mixtral",
      "Mixtral: Llama's layers with a router and experts in place of one feed-forward block",
      [](ModelShape& m) {
        SetLlamaDefaults(m);
        m.experts = 8;
        m.top_k = 2;
      });
}

}  // namespace reprise
