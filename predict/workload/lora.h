// Low-rank adaptation (LoRA: Hu et al. 2021, arXiv 2106.09685, section 4.1): the model's weights W
// are frozen, and chosen linear layers compute y = W x + s B A x, of which A (rank by inputs) and B
// (outputs by rank) are trained. s is alpha / rank; it changes no size and no time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

// Linear layers that may have adapters, by Megatron-Bridge's names (megatron/bridge/peft/lora.py
// and canonical_lora.py). The second name is that of transformers' Llama, which peft takes.
struct LoraTarget {
  std::string_view name, also;
  std::string_view part_of;  // the target of which it is a part; empty: of none
};
inline constexpr std::string_view kLoraQkv = "linear_qkv", kLoraQuery = "linear_q",
                                  kLoraKey = "linear_k", kLoraValue = "linear_v",
                                  kLoraProj = "linear_proj", kLoraFc1 = "linear_fc1",
                                  kLoraGate = "linear_fc1_gate", kLoraUp = "linear_fc1_up",
                                  kLoraFc2 = "linear_fc2";
inline constexpr LoraTarget kLoraTargets[] = {
    {kLoraQkv, "qkv_proj", ""},          // all of queries, keys and values
    {kLoraQuery, "q_proj", kLoraQkv},    // its columns
    {kLoraKey, "k_proj", kLoraQkv},      //
    {kLoraValue, "v_proj", kLoraQkv},    //
    {kLoraProj, "o_proj", ""},           // behind attention
    {kLoraFc1, "gate_up_proj", ""},      // into a dense feed-forward block
    {kLoraGate, "gate_proj", kLoraFc1},  // its halves
    {kLoraUp, "up_proj", kLoraFc1},      //
    {kLoraFc2, "down_proj", ""}};        // out of it

struct Lora {
  std::int64_t rank = 0;
  // Names of kLoraTargets, in their order. Megatron-Bridge's default.
  std::vector<std::string> targets = {std::string(kLoraQkv), std::string(kLoraProj),
                                      std::string(kLoraFc1), std::string(kLoraFc2)};
  double dropout = 0;  // of what A takes
  bool operator==(const Lora&) const = default;

  [[nodiscard]] bool Has(std::string_view target) const {
    for (const std::string& name : targets) {
      if (name == target) {
        return true;
      }
    }
    return false;
  }
};

}  // namespace reprise
