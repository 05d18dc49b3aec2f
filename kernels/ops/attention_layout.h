// Which argument is what in the operators of the attention family.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace reprise {

// Where each operator has its arguments; -1: it has no such argument.
struct AttentionLayout {
  std::string_view name;
  bool backward;
  int q, k, v, mask, dropout, causal, scale;
  int out_grad, out, lse;  // inputs of the backward; `out` and `lse` of the forward are outputs
  // Tensors are (batch, tokens, heads, features), and causal is by the last query and key.
  bool tokens_first = false;
  // What is not supported: tensors (sequence lengths, slopes), windows unless negative.
  std::array<int, 5> absent = {-1, -1, -1, -1, -1};
};

[[nodiscard]] std::span<const AttentionLayout> AttentionLayouts();
// Their names.
[[nodiscard]] std::span<const std::string_view> AttentionOperators();

}  // namespace reprise
