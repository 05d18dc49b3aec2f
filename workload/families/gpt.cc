// GPT-2 and GPT-3 (Radford et al. 2019; Brown et al. 2020, arXiv 2005.14165), Megatron-LM.
#include "workload/families/transformer.h"

namespace reprise {
namespace {

class Gpt final : public LanguageFamily {
 public:
  [[nodiscard]] std::string_view name() const override { return "gpt"; }
  [[nodiscard]] std::string_view help() const override {
    return "GPT-2, GPT-3, Megatron: layer norm, biases, learned positions, GELU";
  }
  void SetDefaults(ModelShape&) const override {}
};

}  // namespace

std::unique_ptr<ModelFamily> MakeGpt() { return std::make_unique<Gpt>(); }

}  // namespace reprise
