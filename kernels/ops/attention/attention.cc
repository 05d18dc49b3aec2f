// Scaled dot-product attention, forward and backward.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "kernels/ops/attention/attention_call.h"
#include "kernels/ops/attention/attention_run.h"
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
    score += At(t.q, {b, h, i, e}) * At(t.k, {b, h / a.group, j, e});
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
      value += p[static_cast<std::size_t>(j)] * KeptByDropout(a, b, h, i, j) *
               At(t.v, {b, h / a.group, j, e});
    }
    t.out.Set(t.out.OffsetOf(Index{b, h, i, e}), sum == 0 ? 0 : value / sum);
  }
  if (a.lse != nullptr) {
    t.lse.Set(t.lse.OffsetOf(Index{b, h, i}), sum == 0 ? -INFINITY : most + std::log(sum));
  }
}

using Doubles = std::vector<double>;
std::size_t Unsigned(std::int64_t n) { return static_cast<std::size_t>(n); }

// Adds what one head of queries gives: to its own gradient, and to those of the keys and values.
void BackwardHead(const AttentionCall& a, const HostAttention& t, std::int64_t b, std::int64_t h,
                  Doubles& dq, Doubles& dk, Doubles& dv) {
  const std::int64_t shared = h / a.group;
  for (std::int64_t i = 0; i < a.queries; ++i) {
    const double lse = At(t.lse, {b, h, i});
    double delta = 0;  // sum over keys of P dP
    for (std::int64_t e = 0; e < a.value_features; ++e) {
      delta += At(t.out_grad, {b, h, i, e}) * At(t.out, {b, h, i, e});
    }
    for (std::int64_t j = 0; j < a.keys; ++j) {
      const double score = Score(a, t, b, h, i, j);
      const double p = score == -INFINITY || lse == -INFINITY ? 0 : std::exp(score - lse);
      const double kept = KeptByDropout(a, b, h, i, j);
      double dp = 0;
      for (std::int64_t e = 0; e < a.value_features; ++e) {
        const double grad = At(t.out_grad, {b, h, i, e});
        dp += kept * grad * At(t.v, {b, shared, j, e});
        dv[Unsigned(j * a.value_features + e)] += p * kept * grad;
      }
      const double ds = p * (dp - delta) * a.scale;
      for (std::int64_t e = 0; e < a.features; ++e) {
        dq[Unsigned(i * a.features + e)] += ds * At(t.k, {b, shared, j, e});
        dk[Unsigned(j * a.features + e)] += ds * At(t.q, {b, h, i, e});
      }
    }
  }
}

void StoreHead(const HostTensor& to, std::int64_t b, std::int64_t h, const Doubles& from,
               std::int64_t width) {
  for (std::size_t n = 0; n < from.size(); ++n) {
    const auto at = static_cast<std::int64_t>(n);
    to.Set(to.OffsetOf(Index{b, h, at / width, at % width}), from[n]);
  }
}

// Gradients of one head of keys and values and of the query heads that share it.
void BackwardGroup(const AttentionCall& a, const HostAttention& t, std::int64_t b,
                   std::int64_t shared) {
  Doubles dk(Unsigned(a.keys * a.features));
  Doubles dv(Unsigned(a.keys * a.value_features));
  for (std::int64_t h = shared * a.group; h < (shared + 1) * a.group; ++h) {
    Doubles dq(Unsigned(a.queries * a.features));
    BackwardHead(a, t, b, h, dq, dk, dv);
    StoreHead(t.q_grad, b, h, dq, a.features);
  }
  StoreHead(t.k_grad, b, shared, dk, a.features);
  StoreHead(t.v_grad, b, shared, dv, a.value_features);
}

class AttentionKernel : public Kernel {
 public:
  [[nodiscard]] std::string_view name() const override { return "attention"; }
  [[nodiscard]] bool Supports(const OpCall& call) const override {
    return ParseAttention(call).has_value();
  }
  [[nodiscard]] Tolerance tolerance() const override { return {5e-4, 5e-4}; }

  [[nodiscard]] Status Reference(const OpCall& call, const HostBindings& memory) const override {
    const auto a = ParseAttention(call);
    if (!a) {
      return UsageError(call.name + ": arguments that the attention kernel does not take");
    }
    REPRISE_ASSIGN(const HostAttention t, HostAttention::Bind(*a, memory));
    for (std::int64_t b = 0; b < a->batch; ++b) {
      for (std::int64_t h = 0; h < a->heads; ++h) {
        if (a->backward && h % a->group == 0) {
          BackwardGroup(*a, t, b, h / a->group);
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
    const bool some = a && AttentionPairs(*a) > 0 && a->features > 0 && a->value_features > 0;
    return some ? RunAttentionOnHost(*a, memory) : Reference(call, memory);
  }
  [[nodiscard]] Result<std::vector<Launch>> LowerToDevice(
      const OpCall& call, const LowerContext& context) const override {
    const auto a = ParseAttention(call);
    if (!a) {
      return UsageError(call.name + ": arguments that the attention kernel does not take");
    }
    return LowerAttention(*a, context);
  }
  [[nodiscard]] std::vector<OpCall> Samples() const override { return AttentionSamples(); }
};

}  // namespace

std::unique_ptr<Kernel> MakeAttention() { return std::make_unique<AttentionKernel>(); }

}  // namespace reprise
