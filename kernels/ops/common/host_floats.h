// Whole tensors as dense float32: in place where they are that already, else in a copy. The
// operands of the host backend's loops (host_loops.h).
#pragma once

#include <initializer_list>
#include <vector>

#include "kernels/tensor_access.h"

namespace reprise {

// float32, float16 or bfloat16, all of them; missing tensors (nullptr) are allowed.
[[nodiscard]] bool AreFloats(std::initializer_list<const TensorDesc*> tensors);

class FloatsIn {
 public:
  [[nodiscard]] static Result<FloatsIn> Read(const TensorDesc& tensor, const HostBindings& memory);
  // `count` times `fallback` if there is no tensor.
  [[nodiscard]] static Result<FloatsIn> ReadOr(const TensorDesc* tensor, const HostBindings& memory,
                                               std::int64_t count, float fallback);
  [[nodiscard]] const float* data() const { return data_; }
  [[nodiscard]] float operator[](std::int64_t i) const { return data_[i]; }

 private:
  const float* data_ = nullptr;
  std::vector<float> copy_;
};

// Written wholly; Store() writes it to the tensor.
class FloatsOut {
 public:
  [[nodiscard]] static Result<FloatsOut> Write(const TensorDesc& tensor,
                                               const HostBindings& memory);
  // `count` floats that are dropped if there is no tensor.
  [[nodiscard]] static Result<FloatsOut> WriteOr(const TensorDesc* tensor,
                                                 const HostBindings& memory, std::int64_t count);
  [[nodiscard]] float* data() { return data_; }
  [[nodiscard]] float& operator[](std::int64_t i) { return data_[i]; }
  [[nodiscard]] Status Store(const HostBindings& memory) const;

 private:
  const TensorDesc* tensor_ = nullptr;
  float* data_ = nullptr;
  std::vector<float> copy_;
};

}  // namespace reprise
