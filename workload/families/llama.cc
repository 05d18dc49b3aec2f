// Llama 2 and 3 (arXiv 2307.09288, 2407.21783).
#include "workload/families/transformer.h"

namespace reprise {
namespace {

class Llama final : public LanguageFamily {
 public:
  [[nodiscard]] std::string_view name() const override { return "llama"; }
  [[nodiscard]] std::string_view help() const override {
    return "Llama: RMS norm, rotary positions, gated feed-forward, grouped queries";
  }
  void SetDefaults(ModelShape& m) const override {
    m.rms_norm = m.rotary = m.gated_ffn = true;
    m.bias = m.tied_embeddings = false;
  }
};

}  // namespace

std::unique_ptr<ModelFamily> MakeLlama() { return std::make_unique<Llama>(); }

}  // namespace reprise
