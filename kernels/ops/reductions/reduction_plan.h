// Reductions over dimensions: which elements, and the launches of reduction.cl. For the reduction
// family, and for kernels that need a total (losses).
#pragma once

#include <optional>
#include <vector>

#include "kernels/ops/common/row_lowering.h"

namespace reprise {

// A tensor as (outer, n, inner), reduced over n; results are (outer, inner) in row-major order.
struct ReductionShape {
  TensorDesc view;  // dense already, or to be packed
  std::int64_t outer = 1;
  std::int64_t n = 1;
  std::int64_t inner = 1;
};
// reduced[d]: whether dimension d goes.
[[nodiscard]] ReductionShape ShapeReduction(const TensorDesc& x, const std::vector<bool>& reduced);
// The kept dimensions first, then the reduced ones: rows of what becomes one result each.
[[nodiscard]] TensorDesc ReducedLast(const TensorDesc& x, const std::vector<bool>& reduced);
// None or an empty list: all dimensions. Nothing if a dimension does not exist.
[[nodiscard]] std::optional<std::vector<bool>> ReducedDims(const Value& dims, std::int64_t rank);

// How a reduction starts, continues and ends: row_<first> or col_<first> of reduction.cl, then the
// same of <rest> over partial results, then `finish`.
enum class ReductionFinish : std::int32_t {
  kNone = 0,
  kMean = 1,
  kSqrt = 2,
  kRoot = 3,
  kTruth = 4
};
struct ReductionSteps {
  const char* first = "sum";
  const char* rest = "sum";
  ReductionFinish finish = ReductionFinish::kNone;
  double parameter = 0;  // the exponent
};

struct ReductionJob {
  DenseOperand x;
  DType x_type = DType::kFloat32;
  ReductionShape shape;
  DenseOperand y;
  DType y_type = DType::kFloat32;
  DType accumulator = DType::kFloat32;
  ReductionSteps steps;
  std::int64_t mean_of = 0;  // elements behind a mean if x holds partial sums; 0: shape.n
};
// One launch, or two where one result has many elements and the device would idle.
void AppendReduction(RowLowering& rows, const ReductionJob& job);

// Calls for conformance tests.
[[nodiscard]] std::vector<OpCall> ReductionSamples();

}  // namespace reprise
