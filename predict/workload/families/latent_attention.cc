// Latent attention: queries, keys and values are made from a few numbers of each token.
#include "predict/workload/families/layer_parts.h"
#include "predict/workload/ops/model_operators.h"
#include "predict/workload/parallel/tensor.h"

namespace reprise {
namespace {

// Projections down are whole on each tensor-parallel rank, and those up divided by heads, as
// Megatron-LM's multi_latent_attention.py has them: its ranks gather the few numbers, not the
// hidden states.
class LatentAttention final : public LayerPart {
 public:
  LatentAttention(Unit& unit, const Workload& w) {
    const ModelShape& m = w.model;
    const std::int64_t heads = m.heads / w.layout.tp;
    const bool bias = m.qkv_bias.value_or(m.bias);
    const auto down = [&](std::int64_t rows) {
      return NewLinear(unit, w, rows, m.hidden, Division::kWhole, bias);
    };
    const auto up = [&](std::int64_t rows, std::int64_t columns, bool with_bias) {
      return NewLinear(unit, w, rows, columns, Division::kColumns, with_bias);
    };
    if (m.q_rank > 0) {
      q_down_ = down(m.q_rank);
      q_norm_ = NewNorm(unit, w, m.q_rank);
    }
    q_up_ = up(heads * m.head_size, m.q_rank > 0 ? m.q_rank : m.hidden, false);
    kv_down_ = down(m.kv_rank + m.rotary_size);
    kv_norm_ = NewNorm(unit, w, m.kv_rank);
    kv_up_ = up(heads * (m.head_size - m.rotary_size + m.value_size), m.kv_rank, false);
    out_ = NewLinear(unit, w, m.hidden, heads * m.value_size, Division::kRows,
                     m.out_bias.value_or(m.bias));
    out_.adapter = NewAdapter(unit, w, kLoraProj, m.hidden, heads * m.value_size, Division::kRows);
  }

  [[nodiscard]] Var Forward(Builder& b, const Var& x) override {
    const ModelShape& m = b.model();
    const std::int64_t straight = m.head_size - m.rotary_size;
    constexpr std::int64_t kLast = 3;  // dimension of features
    Var from = x;
    if (m.q_rank > 0) {
      from = Norm(b, Linear(b, x, *q_down_.weight, q_down_.bias), q_norm_);
    }
    const Var q_heads = OfHeads(b, Up(b, from, q_up_), m.head_size);
    const std::vector<Var> q_parts = Split(b, q_heads, {straight, m.rotary_size});
    const Var q = Concatenate(b, {q_parts[0], TurnByPosition(b, q_parts[1], m.rotary_size)}, kLast);

    const Var down = Linear(b, x, *kv_down_.weight, kv_down_.bias);
    const std::vector<Var> latent = Split(b, down, {m.kv_rank, m.rotary_size});
    const Var kv = OfHeads(b, Up(b, Norm(b, latent[0], kv_norm_), kv_up_), straight + m.value_size);
    const std::vector<Var> kv_parts = Split(b, kv, {straight, m.value_size});
    // One turned key for all heads.
    const Var shared = EnterTensorParallel(b, Contiguous(b, latent[1]));
    std::vector<std::int64_t> shape = shared.shape();
    shape.insert(shape.end() - 1, 1);
    const Var turned = TurnByPosition(b, View(b, shared, shape), m.rotary_size);
    shape[2] = kv_parts[0].shape()[2];
    const Var k = Concatenate(b, {kv_parts[0], Expand(b, turned, shape)}, kLast);
    const Var out =
        AttentionOfHeads(b, HeadsFirst(b, q), HeadsFirst(b, k), HeadsFirst(b, kv_parts[1]), 0);
    return LastLinear(b, out, out_);
  }
  [[nodiscard]] Parameter* BiasLeft(const Workload& w) const override {
    return w.layout.tp > 1 ? out_.bias : nullptr;
  }

 private:
  static Var Up(Builder& b, const Var& x, const WeightAndBias& up) {
    return Linear(b, EnterTensorParallel(b, x, true), *up.weight, up.bias, true);
  }
  static Var OfHeads(Builder& b, const Var& x, std::int64_t features) {
    std::vector<std::int64_t> shape = x.shape();
    shape.back() /= features;
    shape.push_back(features);
    return View(b, x, shape);
  }

  WeightAndBias q_down_, q_norm_, q_up_;
  WeightAndBias kv_down_, kv_norm_, kv_up_;
  WeightAndBias out_;
};

}  // namespace

std::unique_ptr<LayerPart> NewLatentAttention(Unit& unit, const Workload& w) {
  return std::make_unique<LatentAttention>(unit, w);
}

}  // namespace reprise
