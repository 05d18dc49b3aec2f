// Attention with heads of queries, keys and values.
#include <tuple>

#include "predict/workload/families/layer_parts.h"
#include "predict/workload/ops/model_operators.h"
#include "predict/workload/parallel/adapters.h"
#include "predict/workload/parallel/tensor.h"

namespace reprise {
namespace {

class HeadAttention final : public LayerPart {
 public:
  HeadAttention(Unit& unit, const Workload& w, std::int64_t number)
      : window_(w.model.WindowOf(number)) {
    const ModelShape& m = w.model;
    const std::int64_t t = w.layout.tp;
    const std::int64_t queries = m.heads * m.head_size / t;
    const std::int64_t keys = m.kv_heads * m.head_size / t;
    const bool bias = m.qkv_bias.value_or(m.bias);
    const auto columns = [&](std::int64_t rows) {
      return NewLinear(unit, w, rows, m.hidden, Division::kColumns, bias);
    };
    const auto adapter = [&](std::string_view target, std::int64_t rows) {
      return NewAdapter(unit, w, target, rows, m.hidden, Division::kColumns);
    };
    if (m.fused_qkv) {
      qkv_ = columns(queries + 2 * keys);
      qkv_.adapter = adapter(kLoraQkv, queries + 2 * keys);
    } else {
      q_ = columns(queries);
      k_ = columns(keys);
      v_ = columns(keys);
    }
    for (const auto& [part, target, rows] :
         {std::tuple(&q_, kLoraQuery, queries), std::tuple(&k_, kLoraKey, keys),
          std::tuple(&v_, kLoraValue, keys)}) {
      const bool all = !m.fused_qkv && w.lora && w.lora->Has(kLoraQkv);
      part->adapter = adapter(all ? kLoraQkv : target, rows);
    }
    if (m.qk_norm) {
      q_norm_ = NewHeadNorm(unit, w);
      k_norm_ = NewHeadNorm(unit, w);
    }
    if (m.sinks) {
      sinks_ = unit.NewParameter({m.heads / t});
      sinks_->parts = t;
    }
    out_ = NewLinear(unit, w, m.hidden, queries, Division::kRows, m.out_bias.value_or(m.bias));
    out_.adapter = NewAdapter(unit, w, kLoraProj, m.hidden, queries, Division::kRows);
  }

  [[nodiscard]] Var Forward(Builder& b, const Var& x) override {
    const ModelShape& m = b.model();
    const std::int64_t t = b.layout().tp;
    const Var n = EnterTensorParallel(b, x, true);
    std::vector<Var> qkv;
    if (m.fused_qkv) {
      const std::int64_t keys = m.kv_heads / t * m.head_size;
      const Var all = Linear(b, n, *qkv_.weight, qkv_.bias, true);
      qkv = Split(b, WithColumnAdapter(b, all, x, n, qkv_.adapter),
                  {m.heads / t * m.head_size, keys, keys});
    }
    const auto project = [&](std::size_t i, const WeightAndBias& own) {
      const Var y = m.fused_qkv ? qkv[i] : Linear(b, n, *own.weight, own.bias, true);
      return WithColumnAdapter(b, y, x, n, own.adapter);
    };
    const auto heads_first = [&](const Var& y, std::int64_t heads, Parameter* norm, bool turned) {
      std::vector<std::int64_t> shape = y.shape();
      shape.back() = heads;
      shape.push_back(m.head_size);
      Var of_heads = View(b, y, shape);
      if (norm != nullptr) {
        of_heads = RmsNorm(b, of_heads, *norm);
      }
      return HeadsFirst(b, turned ? TurnByPosition(b, of_heads, m.rotary_size) : of_heads);
    };
    const Var q = heads_first(project(0, q_), m.heads / t, q_norm_, true);
    const Var k = heads_first(project(1, k_), m.kv_heads / t, k_norm_, true);
    const Var v = heads_first(project(2, v_), m.kv_heads / t, nullptr, false);
    return LastLinear(b, AttentionOfHeads(b, q, k, v, window_, sinks_), out_);
  }
  [[nodiscard]] Parameter* BiasLeft(const Workload& w) const override {
    return w.layout.tp > 1 ? out_.bias : nullptr;
  }

 private:
  // Each rank has it whole, and the gradients of its heads.
  static Parameter* NewHeadNorm(Unit& unit, const Workload& w) {
    Parameter* const norm = unit.NewParameter({w.model.head_size});
    norm->tp_sum = w.layout.tp > 1;
    return norm;
  }

  std::int64_t window_;
  WeightAndBias qkv_, q_, k_, v_;  // fused, or apart; adapters of parts of a fused one
  Parameter *q_norm_ = nullptr, *k_norm_ = nullptr, *sinks_ = nullptr;
  WeightAndBias out_;
};

}  // namespace

std::unique_ptr<LayerPart> NewAttention(Unit& unit, const Workload& w, std::int64_t number) {
  return std::make_unique<HeadAttention>(unit, w, number);
}

}  // namespace reprise
