// Scaled dot-product attention, forward and backward.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/ops/attention/attention_call.h"
#include "kernels/ops/attention/attention_host_rows.h"
#include "kernels/ops/common/parsed_kernel.h"

namespace reprise {
namespace {

using Index = std::vector<std::int64_t>;
double At(const std::optional<HostTensor>& t, const Index& index) {
  return t->Get(t->OffsetOf(index));
}
void Put(const std::optional<HostTensor>& t, const Index& index, double value) {
  t->Set(t->OffsetOf(index), value);
}

// Score of query i and key j, minus infinity where masked.
double Score(const AttentionCall& a, const AttentionMemory& t, std::int64_t b, std::int64_t h,
             std::int64_t i, std::int64_t j) {
  if (a.causal && (j > i + a.shift || (a.window > 0 && j <= i + a.shift - a.window))) {
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

void ForwardRow(const AttentionCall& a, const AttentionMemory& t, std::int64_t b, std::int64_t h,
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
    Put(t.out, {b, h, i, e}, sum == 0 ? 0 : value / sum);
  }
  if (a.lse != nullptr) {
    Put(t.lse, {b, h, i}, sum == 0 ? -INFINITY : most + std::log(sum));
  }
}

using Doubles = std::vector<double>;
std::size_t Unsigned(std::int64_t n) { return static_cast<std::size_t>(n); }

// Adds what one head of queries gives: to its own gradient, and to those of the keys and values.
void BackwardHead(const AttentionCall& a, const AttentionMemory& t, std::int64_t b, std::int64_t h,
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

void StoreHead(const std::optional<HostTensor>& to, std::int64_t b, std::int64_t h,
               const Doubles& from, std::int64_t width) {
  for (std::size_t n = 0; n < from.size(); ++n) {
    const auto at = static_cast<std::int64_t>(n);
    Put(to, {b, h, at / width, at % width}, from[n]);
  }
}

// Gradients of one head of keys and values and of the query heads that share it.
void BackwardGroup(const AttentionCall& a, const AttentionMemory& t, std::int64_t b,
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

Status RunReference(const AttentionCall& a, const HostBindings& memory) {
  REPRISE_ASSIGN(const AttentionMemory t, AttentionMemory::Bind(a, memory));
  for (std::int64_t b = 0; b < a.batch; ++b) {
    for (std::int64_t h = 0; h < a.heads; ++h) {
      if (a.backward && h % a.group == 0) {
        BackwardGroup(a, t, b, h / a.group);
      }
      for (std::int64_t i = 0; !a.backward && i < a.queries; ++i) {
        ForwardRow(a, t, b, h, i);
      }
    }
  }
  return {};
}

Status RunOnHost(const AttentionCall& a, const HostBindings& memory) {
  const bool some = AttentionPairs(a) > 0 && a.features > 0 && a.value_features > 0;
  return some ? RunAttentionOnHost(a, memory) : RunReference(a, memory);
}

Status RunPackedReference(const PackedAttention& packed, const HostBindings& memory) {
  for (const AttentionCall& part : packed.parts) {
    REPRISE_TRY(RunReference(part, memory));
  }
  return {};
}
Status RunPackedOnHost(const PackedAttention& packed, const HostBindings& memory) {
  for (const AttentionCall& part : packed.parts) {
    REPRISE_TRY(RunOnHost(part, memory));
  }
  return {};
}
void LowerPacked(const PackedAttention& packed, RowLowering& rows) {
  for (const AttentionCall& part : packed.parts) {
    LowerAttention(part, rows);
  }
}

}  // namespace

std::unique_ptr<Kernel> MakeAttention() {
  return MakeParsedKernel(
      {.name = "attention",
       .program = "attention.cl",
       .samples = AttentionSamples,
       .tolerance = {5e-4, 5e-4}},
      CallForm<AttentionCall>{ParseAttention, RunReference, LowerAttention, RunOnHost},
      CallForm<PackedAttention>{ParsePackedAttention, RunPackedReference, LowerPacked,
                                RunPackedOnHost});
}

}  // namespace reprise
