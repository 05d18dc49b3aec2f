// Launches of matrix products, for gemm, convolution and attention.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/dtype.h"
#include "core/result.h"
#include "kernels/device.h"
#include "kernels/kernel.h"

namespace reprise {

// An index i of a product, seen as i0 + e0 (i1 + e1 i2).
struct GemmIndex {
  std::int64_t e0 = std::numeric_limits<std::int32_t>::max();
  std::int64_t e1 = 1;
};
// What i0, i1 and i2 are multiplied with. A plain matrix has {stride, 0, 0}.
using GemmStrides = std::array<std::int64_t, 3>;

// All in elements.
struct GemmOperand {
  Buffer* buffer = nullptr;
  DType dtype = DType::kFloat32;
  std::int64_t offset = 0;
  std::array<std::int64_t, 2> batch = {0, 0};  // strides of z0, z1
  GemmStrides row = {0, 0, 0};
  GemmStrides column = {0, 0, 0};
};

// Which part of a product matters (causal attention).
enum class GemmTriangle : std::int32_t {
  kAll = 0,
  kResultLower = 1,  // only D(m, n) with n <= m is read later; the rest may be left unwritten
  kLeftLower = 2,    // A(m, k) is 0 for k > m
  kLeftUpper = 3,    // A(m, k) is 0 for k < m
};

// D(m,n) = alpha sum_k A(m,k) B(k,n) + beta C(m,n) for every z = z0 + batch[0] z1.
struct GemmProblem {
  std::int64_t m = 0, n = 0, k = 0;
  std::array<std::int64_t, 2> batch = {1, 1};
  GemmIndex m_index, n_index, k_index;
  GemmOperand a, b, d;
  GemmOperand c;  // only row[0] and column[0]; no buffer: beta is 0
  double alpha = 1;
  double beta = 0;
  GemmTriangle triangle = GemmTriangle::kAll;
};

[[nodiscard]] inline const GemmOperand& AddendOf(const GemmProblem& p) {
  return p.c.buffer != nullptr ? p.c : p.d;
}
// What the programs' structs of arguments have in common.
template <typename Args>
[[nodiscard]] Args SharedGemmArgs(const GemmProblem& p) {
  Args args = {};
  const GemmOperand& c = AddendOf(p);
  args.a_at = p.a.offset;
  args.b_at = p.b.offset;
  args.c_at = c.offset;
  args.d_at = p.d.offset;
  args.a_z = p.a.batch;
  args.b_z = p.b.batch;
  args.c_z = c.batch;
  args.d_z = p.d.batch;
  args.c_m = static_cast<decltype(args.c_m)>(c.row[0]);
  args.c_n = static_cast<decltype(args.c_n)>(c.column[0]);
  args.m = static_cast<std::int32_t>(p.m);
  args.n = static_cast<std::int32_t>(p.n);
  args.k = static_cast<std::int32_t>(p.k);
  args.z_e0 = static_cast<std::int32_t>(p.batch[0]);
  args.triangle = static_cast<std::int32_t>(p.triangle);
  args.alpha = static_cast<float>(p.alpha);
  args.beta = static_cast<float>(p.c.buffer != nullptr ? p.beta : 0.0);
  return args;
}

// float32, bfloat16 and float16 in any mixture, computed in float32; or one of float64 and the
// integers for all operands. Nothing else.
[[nodiscard]] bool GemmTypesSupported(DType a, DType b, DType d);

// One launch (none for an empty D). Offsets of elements from an operand's first must fit 31 bits.
// Uses scratch slot `scratch_slot` where D is not float32 and k is deep.
[[nodiscard]] Result<std::vector<Launch>> LowerGemm(const GemmProblem& problem,
                                                    const LowerContext& context, int scratch_slot);

}  // namespace reprise
