// Mixtral (arXiv 2401.04088).
#include "workload/families/transformer.h"

namespace reprise {
namespace {

class Mixtral final : public LanguageFamily {
 public:
  [[nodiscard]] std::string_view name() const override { return "mixtral"; }
  [[nodiscard]] std::string_view help() const override {
    return "Mixtral: Llama's layers with a router and experts in place of one feed-forward block";
  }
  void SetDefaults(ModelShape& m) const override {
    m.rms_norm = m.rotary = m.gated_ffn = true;
    m.bias = m.tied_embeddings = false;
    m.experts = 8;
    m.top_k = 2;
  }
};

}  // namespace

std::unique_ptr<ModelFamily> MakeMixtral() { return std::make_unique<Mixtral>(); }

}  // namespace reprise
