// The operands of attention on the host as matrices of SmallProduct: one head at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/ops/attention/attention_call.h"
#include "kernels/ops/products/small_product.h"
#include "kernels/tensor_access.h"

namespace reprise {

// The tensors of a call in memory; those that it lacks are empty.
struct AttentionMemory {
  std::optional<HostTensor> q, k, v, mask, out, lse, out_grad, q_grad, k_grad, v_grad;
  [[nodiscard]] static Result<AttentionMemory> Bind(const AttentionCall& a,
                                                    const HostBindings& memory);
};

[[nodiscard]] constexpr std::int64_t WholeSteps(std::int64_t n) {
  return (n + kSmallStep - 1) / kSmallStep * kSmallStep;
}
[[nodiscard]] constexpr std::int64_t PanelsOf(std::int64_t n) {
  return (n + SmallRight::kPanel - 1) / SmallRight::kPanel * SmallRight::kPanel;
}

// Rows of features of a head of (batch, heads, tokens, features): in place where they are float32,
// dense and of whole steps, else a copy that is padded with zeros.
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
  [[nodiscard]] std::int64_t width() const { return WholeSteps(features_); }
  [[nodiscard]] std::int64_t stride() const { return stride_; }
  [[nodiscard]] float* row(std::int64_t i) { return data_ + i * stride_; }
  [[nodiscard]] const float* row(std::int64_t i) const { return data_ + i * stride_; }
  [[nodiscard]] SmallLeft Left(std::int64_t first) const { return {row(first), stride_, 1}; }
  [[nodiscard]] SmallRight Right(std::int64_t first) const { return {row(first), stride_}; }

  void Scale(float factor);
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

// Rows of a head as columns: (features, tokens) in panels, times a factor.
class PackedRows {
 public:
  void Pack(const HeadRows& rows, float factor);
  [[nodiscard]] SmallRight Right() const { return {data_.data(), SmallRight::kPanel, panel_}; }

 private:
  std::vector<float> data_;
  std::int64_t panel_ = 0;
};

}  // namespace reprise
