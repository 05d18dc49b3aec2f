#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/lowering.h"
#include "kernels/ops/attention_run.h"
#include "kernels/ops/gemm_host.h"
#include "kernels/ops/host_loops.h"
#include "kernels/tensor_access.h"

namespace reprise {
namespace {

// One head after the other: scores by oneDNN, their rows by plain loops.
class HostHeads {
 public:
  HostHeads(const AttentionCall& a, const HostBindings& memory) : a_(a), memory_(memory) {
    scores_.resize(static_cast<std::size_t>(a.queries * a.keys));
    grads_.resize(a.backward ? scores_.size() : 0);
    if (a.mask != nullptr) {
      mask_strides_ = BroadcastStrides(*a.mask, {a.batch, a.heads, a.queries, a.keys});
    }
  }

  [[nodiscard]] Status Run() {
    for (b_ = 0; b_ < a_.batch; ++b_) {
      for (h_ = 0; h_ < a_.heads; ++h_) {
        REPRISE_TRY(a_.backward ? Backward() : Forward());
      }
    }
    return {};
  }

 private:
  [[nodiscard]] Result<HostMatrix> Matrix(const TensorDesc& t, bool transposed = false) const {
    REPRISE_ASSIGN(const HostTensor bound, HostTensor::Bind(t, memory_));
    const std::int64_t head = t.shape[1] == a_.heads ? h_ : h_ / a_.group;
    return HostMatrix{bound.data(), t.dtype, t.offset + b_ * t.strides[0] + head * t.strides[1],
                      t.strides[transposed ? 3 : 2], t.strides[transposed ? 2 : 3]};
  }
  [[nodiscard]] Result<HostMatrix> Dense(std::vector<float>& data, bool transposed = false) const {
    return HostMatrix{reinterpret_cast<std::byte*>(data.data()), DType::kFloat32, 0,
                      transposed ? 1 : a_.keys, transposed ? a_.keys : 1};
  }
  [[nodiscard]] static Status Multiply(std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
                                       const Result<HostMatrix>& a, const Result<HostMatrix>& b,
                                       const Result<HostMatrix>& d, float beta = 0) {
    for (const auto* x : {&a, &b, &d}) {
      REPRISE_TRY(*x);
    }
    return HostGemm(m, n, k, static_cast<float>(alpha), *a, *b, beta, *d);
  }

  // Masks row i of the scores; returns how many keys of it count.
  [[nodiscard]] Result<std::int64_t> MaskRow(std::int64_t i) {
    const std::int64_t n = a_.causal ? std::min(a_.keys, i + 1) : a_.keys;
    if (a_.mask != nullptr) {
      REPRISE_ASSIGN(const HostTensor mask, HostTensor::Bind(*a_.mask, memory_));
      const auto& s = mask_strides_;
      const std::int64_t at = a_.mask->offset + b_ * s[0] + h_ * s[1] + i * s[2];
      float* row = scores_.data() + i * a_.keys;
      for (std::int64_t j = 0; j < n; ++j) {
        const auto value = static_cast<float>(mask.Get(at + j * s[3]));
        row[j] = a_.mask->dtype != DType::kBool ? row[j] + value : value != 0 ? row[j] : -INFINITY;
      }
    }
    return n;
  }

  [[nodiscard]] Status Scores() {
    return Multiply(a_.queries, a_.keys, a_.features, a_.scale, Matrix(*a_.q), Matrix(*a_.k, true),
                    Dense(scores_));
  }

  [[nodiscard]] Status Forward() {
    REPRISE_TRY(Scores());
    for (std::int64_t i = 0; i < a_.queries; ++i) {
      REPRISE_ASSIGN(const std::int64_t n, MaskRow(i));
      float* row = scores_.data() + i * a_.keys;
      const float most = loops::Max(row, n);
      const float shift = most == -INFINITY ? 0 : most;
      // A row without any key that counts is all zero.
      const double sum = most == -INFINITY ? 0 : loops::ExpSum(row, shift, row, n);
      loops::ScaleShift(row, sum == 0 ? 0 : static_cast<float>(1 / sum), 0, row, n);
      for (std::int64_t j = 0; j < n && a_.dropout > 0; ++j) {
        row[j] *= static_cast<float>(KeptByDropout(a_, b_, h_, i, j));
      }
      std::fill(row + (most == -INFINITY ? 0 : n), row + a_.keys, 0.0F);
      if (a_.lse != nullptr) {
        REPRISE_ASSIGN(const HostTensor lse, HostTensor::Bind(*a_.lse, memory_));
        const std::int64_t index[] = {b_, h_, i};
        lse.Set(lse.OffsetOf(index), shift + std::log(sum));
      }
    }
    return Multiply(a_.queries, a_.value_features, a_.keys, 1, Dense(scores_), Matrix(*a_.v),
                    Matrix(*a_.out));
  }

  [[nodiscard]] Status Backward() {
    REPRISE_TRY(Scores());
    REPRISE_TRY(Multiply(a_.queries, a_.keys, a_.value_features, 1, Matrix(*a_.out_grad),
                         Matrix(*a_.v, true), Dense(grads_)));
    REPRISE_ASSIGN(const HostTensor lse, HostTensor::Bind(*a_.lse, memory_));
    REPRISE_ASSIGN(const HostTensor out, HostTensor::Bind(*a_.out, memory_));
    REPRISE_ASSIGN(const HostTensor out_grad, HostTensor::Bind(*a_.out_grad, memory_));
    for (std::int64_t i = 0; i < a_.queries; ++i) {
      REPRISE_ASSIGN(const std::int64_t n, MaskRow(i));
      const std::int64_t index[] = {b_, h_, i};
      const auto shift = static_cast<float>(lse.Get(lse.OffsetOf(index)));
      float delta = 0;
      for (std::int64_t e = 0; e < a_.value_features; ++e) {
        const std::int64_t at[] = {b_, h_, i, e};
        delta +=
            static_cast<float>(out.Get(out.OffsetOf(at)) * out_grad.Get(out_grad.OffsetOf(at)));
      }
      float* p = scores_.data() + i * a_.keys;
      float* ds = grads_.data() + i * a_.keys;
      const std::int64_t counted = shift == -INFINITY ? 0 : n;
      static_cast<void>(loops::ExpSum(p, shift, p, counted));
      std::fill(p + counted, p + a_.keys, 0.0F);
      for (std::int64_t j = 0; j < a_.keys; ++j) {
        const float kept =
            a_.dropout > 0 ? static_cast<float>(KeptByDropout(a_, b_, h_, i, j)) : 1.0F;
        ds[j] = p[j] * (kept * ds[j] - delta);
        p[j] *= kept;
      }
    }
    REPRISE_TRY(Multiply(a_.queries, a_.features, a_.keys, a_.scale, Dense(grads_), Matrix(*a_.k),
                         Matrix(*a_.q_grad)));
    REPRISE_TRY(MultiplyTransposed(scores_, *a_.out_grad, *a_.v_grad, 1, value_sums_));
    return MultiplyTransposed(grads_, *a_.q, *a_.k_grad, a_.scale, key_sums_);
  }

  // result = alpha scores^T right, over all query heads of a group: summed in float32, and stored
  // with the last of them.
  [[nodiscard]] Status MultiplyTransposed(std::vector<float>& scores, const TensorDesc& right,
                                          const TensorDesc& result, double alpha,
                                          std::vector<float>& sums) {
    const std::int64_t width = right.shape[3];
    if (a_.group == 1) {
      return Multiply(a_.keys, width, a_.queries, alpha, Dense(scores, true), Matrix(right),
                      Matrix(result));
    }
    const std::int64_t member = h_ % a_.group;
    sums.resize(static_cast<std::size_t>(a_.keys * width));
    const HostMatrix to{reinterpret_cast<std::byte*>(sums.data()), DType::kFloat32, 0, width, 1};
    REPRISE_TRY(Multiply(a_.keys, width, a_.queries, alpha, Dense(scores, true), Matrix(right), to,
                         member == 0 ? 0 : 1));
    if (member + 1 < a_.group) {
      return {};
    }
    REPRISE_ASSIGN(const HostTensor bound, HostTensor::Bind(result, memory_));
    for (std::size_t n = 0; n < sums.size(); ++n) {
      const auto at = static_cast<std::int64_t>(n);
      const std::int64_t index[] = {b_, h_ / a_.group, at / width, at % width};
      bound.Set(bound.OffsetOf(index), sums[n]);
    }
    return {};
  }

  const AttentionCall& a_;
  const HostBindings& memory_;
  std::vector<std::int64_t> mask_strides_;
  std::vector<float> scores_, grads_;
  std::vector<float> key_sums_, value_sums_;  // of a group's gradients
  std::int64_t b_ = 0, h_ = 0;
};

}  // namespace

Status RunAttentionOnHost(const AttentionCall& a, const HostBindings& memory) {
  return HostHeads(a, memory).Run();
}

}  // namespace reprise
