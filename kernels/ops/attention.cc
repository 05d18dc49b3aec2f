// Scaled dot-product attention, forward and backward.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "kernels/ops/attention_call.h"
#include "kernels/ops/attention_run.h"
#include "kernels/samples.h"
#include "kernels/tensor_access.h"

namespace reprise {
namespace {

// The tensors of a call in host memory; what does not exist is bound to the query.
struct HostAttention {
  HostTensor q, k, v, mask, out, lse, out_grad, q_grad, k_grad, v_grad;

  static Result<HostAttention> Bind(const AttentionCall& a, const HostBindings& memory) {
    std::vector<HostTensor> bound;
    for (const TensorDesc* t :
         {a.q, a.k, a.v, a.mask, a.out, a.lse, a.out_grad, a.q_grad, a.k_grad, a.v_grad}) {
      REPRISE_ASSIGN(HostTensor tensor, HostTensor::Bind(t != nullptr ? *t : *a.q, memory));
      bound.push_back(tensor);
    }
    return HostAttention{bound[0], bound[1], bound[2], bound[3], bound[4],
                         bound[5], bound[6], bound[7], bound[8], bound[9]};
  }
};

using Index = std::vector<std::int64_t>;
double At(const HostTensor& t, const Index& index) { return t.Get(t.OffsetOf(index)); }

// Score of query i and key j, minus infinity where masked.
double Score(const AttentionCall& a, const HostAttention& t, std::int64_t b, std::int64_t h,
             std::int64_t i, std::int64_t j) {
  if (a.causal && j > i) {
    return -INFINITY;
  }
  double score = 0;
  for (std::int64_t e = 0; e < a.features; ++e) {
    score += At(t.q, {b, h, i, e}) * At(t.k, {b, h, j, e});
  }
  score *= a.scale;
  if (a.mask != nullptr) {
    const Index full = {b, h, i, j};
    Index index;  // the mask broadcasts to the scores
    for (std::size_t d = 0; d < a.mask->shape.size(); ++d) {
      index.push_back(a.mask->shape[d] == 1 ? 0 : full[4 - a.mask->shape.size() + d]);
    }
    const double value = At(t.mask, index);
    score = a.mask->dtype != DType::kBool ? score + value : value != 0 ? score : -INFINITY;
  }
  return score;
}

void ForwardRow(const AttentionCall& a, const HostAttention& t, std::int64_t b, std::int64_t h,
                std::int64_t i) {
  std::vector<double> p;
  for (std::int64_t j = 0; j < a.keys; ++j) {
    p.push_back(Score(a, t, b, h, i, j));
  }
  const double most = p.empty() ? -INFINITY : *std::max_element(p.begin(), p.end());
  double sum = 0;
  for (double& x : p) {
    x = most == -INFINITY ? 0 : std::exp(x - most);
    sum += x;
  }
  for (std::int64_t e = 0; e < a.value_features; ++e) {
    double value = 0;
    for (std::int64_t j = 0; j < a.keys; ++j) {
      value += p[static_cast<std::size_t>(j)] * At(t.v, {b, h, j, e});
    }
    t.out.Set(t.out.OffsetOf(Index{b, h, i, e}), sum == 0 ? 0 : value / sum);
  }
  if (a.lse != nullptr) {
    t.lse.Set(t.lse.OffsetOf(Index{b, h, i}), sum == 0 ? -INFINITY : most + std::log(sum));
  }
}

// Gradients of one head, accumulated in double.
void BackwardHead(const AttentionCall& a, const HostAttention& t, std::int64_t b, std::int64_t h) {
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  std::vector<double> dq(size(a.queries * a.features));
  std::vector<double> dk(size(a.keys * a.features));
  std::vector<double> dv(size(a.keys * a.value_features));
  for (std::int64_t i = 0; i < a.queries; ++i) {
    const double lse = At(t.lse, {b, h, i});
    double delta = 0;  // sum over keys of P dP
    for (std::int64_t e = 0; e < a.value_features; ++e) {
      delta += At(t.out_grad, {b, h, i, e}) * At(t.out, {b, h, i, e});
    }
    for (std::int64_t j = 0; j < a.keys; ++j) {
      const double score = Score(a, t, b, h, i, j);
      const double p = score == -INFINITY || lse == -INFINITY ? 0 : std::exp(score - lse);
      double dp = 0;
      for (std::int64_t e = 0; e < a.value_features; ++e) {
        dp += At(t.out_grad, {b, h, i, e}) * At(t.v, {b, h, j, e});
        dv[size(j * a.value_features + e)] += p * At(t.out_grad, {b, h, i, e});
      }
      const double ds = p * (dp - delta) * a.scale;
      for (std::int64_t e = 0; e < a.features; ++e) {
        dq[size(i * a.features + e)] += ds * At(t.k, {b, h, j, e});
        dk[size(j * a.features + e)] += ds * At(t.q, {b, h, i, e});
      }
    }
  }
  const auto store = [&](const HostTensor& to, const std::vector<double>& from,
                         std::int64_t width) {
    for (std::size_t n = 0; n < from.size(); ++n) {
      const auto at = static_cast<std::int64_t>(n);
      to.Set(to.OffsetOf(Index{b, h, at / width, at % width}), from[n]);
    }
  };
  store(t.q_grad, dq, a.features);
  store(t.k_grad, dk, a.features);
  store(t.v_grad, dv, a.value_features);
}

class AttentionKernel : public Kernel {
 public:
  [[nodiscard]] std::string_view name() const override { return "attention"; }
  [[nodiscard]] std::span<const std::string_view> operators() const override {
    return AttentionOperators();
  }
  [[nodiscard]] bool Supports(const OpCall& call) const override {
    return ParseAttention(call).has_value();
  }
  [[nodiscard]] Tolerance tolerance() const override { return {5e-4, 5e-4}; }

  // Pairs of query and key that count, times 2 (E + V) forward; backward recomputes the scores and
  // multiplies four times more, 2 (3 E + 2 V) (Dao: FlashAttention-2, section 4.1, which for E = V
  // gives 2.5 times the forward). 5 for each probability: subtract, exp, add, divide, scale.
  [[nodiscard]] Cost CostOf(const OpCall& call) const override {
    const auto a = ParseAttention(call);
    if (!a) {
      return EstimateCost(call);
    }
    const auto e = static_cast<double>(a->features);
    const auto v = static_cast<double>(a->value_features);
    Cost cost;
    cost.flops = AttentionPairs(*a) * ((a->backward ? 6 * e + 4 * v : 2 * (e + v)) + 5);
    for (const ValueList* values : {&call.inputs, &call.outputs}) {
      for (const TensorDesc* t : TensorsIn(*values)) {
        cost.bytes += static_cast<double>(ElementCount(t->shape)) * SizeOf(t->dtype);
      }
    }
    return cost;
  }

  [[nodiscard]] Status Reference(const OpCall& call, const HostBindings& memory) const override {
    const auto a = ParseAttention(call);
    if (!a) {
      return UsageError(call.name + ": arguments that the attention kernel does not take");
    }
    REPRISE_ASSIGN(const HostAttention t, HostAttention::Bind(*a, memory));
    for (std::int64_t b = 0; b < a->batch; ++b) {
      for (std::int64_t h = 0; h < a->heads; ++h) {
        if (a->backward) {
          BackwardHead(*a, t, b, h);
        }
        for (std::int64_t i = 0; !a->backward && i < a->queries; ++i) {
          ForwardRow(*a, t, b, h, i);
        }
      }
    }
    return {};
  }
  [[nodiscard]] Status RunOnHost(const OpCall& call, const HostBindings& memory) const override {
    const auto a = ParseAttention(call);
    return a ? RunAttentionOnHost(*a, memory) : Reference(call, memory);
  }
  [[nodiscard]] Result<std::vector<Launch>> LowerToDevice(
      const OpCall& call, const LowerContext& context) const override {
    const auto a = ParseAttention(call);
    if (!a) {
      return UsageError(call.name + ": arguments that the attention kernel does not take");
    }
    return LowerAttention(*a, context);
  }
  [[nodiscard]] std::vector<OpCall> Samples() const override;
};

using samples::Bool, samples::Double, samples::Int, samples::None, samples::SampleTensors;

// Forward and backward of one shape under the CPU operator's names. Heads lie between the tokens,
// as a projection leaves them: strides (T H E, E, H E, 1).
void AddCpuSamples(std::vector<OpCall>& calls, DType t, std::int64_t queries, std::int64_t keys,
                   std::int64_t features, bool causal, const Value& mask_kind) {
  constexpr std::int64_t kBatch = 2;
  constexpr std::int64_t kHeads = 3;
  for (const bool backward : {false, true}) {
    SampleTensors s;
    const auto tensor = [&](std::int64_t tokens) {
      return Value{s.Strided(t, {kBatch, kHeads, tokens, features},
                             {tokens * kHeads * features, features, kHeads * features, 1})};
    };
    const Value q = tensor(queries);
    const Value k = tensor(keys);
    const Value v = tensor(keys);
    const Value out = tensor(queries);
    const Value lse = {
        s.Strided(DType::kFloat32, {kBatch, kHeads, queries}, {queries * kHeads, 1, kHeads})};
    Value mask = None();
    if (const std::string* kind = mask_kind.AsString()) {
      mask = *kind == "bool" ? Value{s.Tensor(DType::kBool, {queries, keys})}
                             : Value{s.Tensor(DType::kFloat32, {kBatch, 1, queries, keys})};
    }
    const Value scale = Double(0.11);
    if (backward) {
      calls.push_back({"aten::_scaled_dot_product_flash_attention_for_cpu_backward",
                       {tensor(queries), q, k, v, out, lse, Double(0), Bool(causal), mask, scale},
                       {tensor(queries), tensor(keys), tensor(keys)}});
    } else {
      calls.push_back({"aten::_scaled_dot_product_flash_attention_for_cpu",
                       {q, k, v, Double(0), Bool(causal), mask, scale},
                       {out, lse}});
    }
  }
}

// The names under which GPUs record it.
void AddGpuSamples(std::vector<OpCall>& calls) {
  SampleTensors s;
  const auto t = [&] { return Value{s.Tensor(DType::kFloat32, {2, 2, 9, 8})}; };
  const Value q = t(), k = t(), v = t(), out = t(), grad = t();
  const Value lse = {s.Tensor(DType::kFloat32, {2, 2, 9})};
  const Value padded = {s.Tensor(DType::kFloat32, {2, 2, 32})};
  const Value bias = {s.Tensor(DType::kFloat32, {2, 2, 9, 9})};
  const Value zero = Double(0), no = Bool(false), yes = Bool(true), none = None();
  calls.push_back({"aten::_scaled_dot_product_flash_attention",
                   {q, k, v, zero, yes, no, none},
                   {out, lse, none, none, Int(9), Int(9), none, none, none}});
  calls.push_back(
      {"aten::_scaled_dot_product_flash_attention_backward",
       {grad, q, k, v, out, lse, none, none, Int(9), Int(9), zero, yes, none, none, Double(0.2)},
       {t(), t(), t()}});
  calls.push_back({"aten::_scaled_dot_product_efficient_attention",
                   {q, k, v, bias, yes, zero, no, none},
                   {out, padded, none, none}});
  calls.push_back({"aten::_scaled_dot_product_efficient_attention_backward",
                   {grad, q, k, v, none, out, padded, none, none, zero,
                    Value{ValueList{yes, yes, yes, no}}, yes, Double(0.2)},
                   {t(), t(), t(), none}});
}

std::vector<OpCall> AttentionKernel::Samples() const {
  std::vector<OpCall> calls;
  const auto f = DType::kFloat32;
  for (const bool causal : {false, true}) {
    AddCpuSamples(calls, f, 33, 33, 16, causal, None());
    AddCpuSamples(calls, f, 5, 20, 7, causal, None());
    AddCpuSamples(calls, f, 20, 6, 8, causal, None());
  }
  AddCpuSamples(calls, f, 140, 140, 4, true, None());  // several blocks, some left out
  AddCpuSamples(calls, f, 17, 19, 8, false, samples::Text("bool"));
  AddCpuSamples(calls, f, 17, 19, 8, false, samples::Text("float"));
  AddCpuSamples(calls, DType::kBFloat16, 18, 18, 8, true, None());
  AddCpuSamples(calls, DType::kFloat16, 18, 18, 8, false, None());
  AddGpuSamples(calls);
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeAttention() { return std::make_unique<AttentionKernel>(); }

}  // namespace reprise
