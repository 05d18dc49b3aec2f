// Products as a BLAS takes them, for the libraries that kernels are measured beside.
#pragma once

#include <cstdint>
#include <optional>

#include "core/value.h"

namespace reprise {

// D = A B for each of a batch, as a BLAS takes it: row-major, every matrix with one stride of 1.
struct BlasProduct {
  struct Operand {
    const TensorDesc* tensor = nullptr;
    std::int64_t offset = 0;  // elements
    bool transposed = false;
    std::int64_t leading = 1;
    std::int64_t batch_stride = 0;
  };
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  DType dtype = DType::kUnknown;  // of all operands
  Operand a, b, d;
};

// Values of cblas.h's enums, which CLBlast takes as well: the libraries are opened at run time,
// without their headers.
enum CblasValue : int { kRowMajor = 101, kNoTranspose = 111, kTranspose = 112 };

// Nothing if the call is no such product (other layouts, a bias, several types). Points into
// `call`.
[[nodiscard]] std::optional<BlasProduct> AsBlasProduct(const OpCall& call);

}  // namespace reprise
