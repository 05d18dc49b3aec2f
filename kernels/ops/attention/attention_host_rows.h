// The operands of attention on the host as matrices: one head at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/ops/attention/attention_call.h"
#include "kernels/ops/products/gemm_host.h"
#include "kernels/tensor_access.h"

namespace reprise {

// The tensors of a call in memory; those that it lacks are empty.
struct AttentionMemory {
  std::optional<HostTensor> q, k, v, mask, out, lse, out_grad, q_grad, k_grad, v_grad;
  [[nodiscard]] static Result<AttentionMemory> Bind(const AttentionCall& a,
                                                    const HostBindings& memory);
};

// A matrix of float32 at `first`; its strides in elements.
[[nodiscard]] HostMatrix FloatMatrix(const float* first, std::int64_t row, std::int64_t column);

// Rows of features of a head of (batch, heads, tokens, features): in place where they are float32
// and dense, else a copy.
class HeadRows {
 public:
  enum Use { kRead, kWritten, kZeroed };  // kZeroed: written, and zero to begin with
  HeadRows() = default;
  HeadRows(const HostTensor& tensor, std::int64_t b, std::int64_t h, Use use = kRead);
  HeadRows(HeadRows&&) = default;
  HeadRows& operator=(HeadRows&&) = default;
  HeadRows(const HeadRows&) = delete;
  HeadRows& operator=(const HeadRows&) = delete;
  ~HeadRows() = default;

  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  [[nodiscard]] std::int64_t features() const { return features_; }
  [[nodiscard]] std::int64_t stride() const { return stride_; }
  [[nodiscard]] float* row(std::int64_t i) { return data_ + i * stride_; }
  [[nodiscard]] const float* row(std::int64_t i) const { return data_ + i * stride_; }
  // The rows from `first` on, and the same as columns.
  [[nodiscard]] HostMatrix Rows(std::int64_t first) const {
    return FloatMatrix(row(first), stride_, 1);
  }
  [[nodiscard]] HostMatrix Columns(std::int64_t first) const {
    return FloatMatrix(row(first), 1, stride_);
  }

  // Writes a copy to the tensor if the copy was written.
  void Store() const;

 private:
  std::byte* storage_ = nullptr;
  DType dtype_ = DType::kFloat32;
  std::int64_t at_ = 0, token_step_ = 0, feature_step_ = 0;  // of the tensor, in elements
  std::int64_t tokens_ = 0, features_ = 0;
  float* data_ = nullptr;
  std::int64_t stride_ = 0;
  std::vector<float> copy_;
};

}  // namespace reprise
