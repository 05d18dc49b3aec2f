// The meaning of the gemm family's operators: one product of strided matrices.
#pragma once

#include <cstdint>
#include <optional>

#include "core/value.h"

namespace reprise {

// How a tensor is read as a batch of matrices; the first element is at the tensor's offset.
struct MatrixView {
  const TensorDesc* tensor = nullptr;
  std::int64_t batch = 0, row = 0, column = 0;  // strides

  [[nodiscard]] std::int64_t At(std::int64_t z, std::int64_t i, std::int64_t j) const {
    return tensor->offset + z * batch + i * row + j * column;
  }
};

// D = alpha A B + beta C. Without `c.tensor` beta is 0.
struct Product {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  MatrixView a, b, c, d;
  double alpha = 1, beta = 0;
};

// Nothing if the call is not one of them, or not one that the kernels compute. Pointers are into
// `call`.
[[nodiscard]] std::optional<Product> ParseProduct(const OpCall& call);

}  // namespace reprise
