// Softmax and log-softmax over one dimension: kernels/ops/losses/softmax.cl.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "kernels/cpu/non_temporal_store.h"
#include "kernels/cpu/parallel_for.h"
#include "kernels/ops/common/host_floats.h"
#include "kernels/ops/common/host_loops.h"
#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/ops/losses/softmax_loops.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

// How launches are sized: what an element takes, in elements moved.
constexpr double kSoftmaxWork = 7;

constexpr std::int32_t kLogarithm = 1;
constexpr std::int32_t kSafe = 2;

struct SoftmaxCall {
  bool backward = false;
  std::int32_t flags = 0;
  // The dimension moved last. Forward reads x; backward reads g and y (in x), writes dx (in y).
  TensorDesc g, x, y;
  std::int64_t rows = 0;
  std::int64_t n = 0;
};

// _softmax(self, dim, half_to_float), _softmax_backward_data(grad, output, dim, input_dtype)
std::optional<SoftmaxCall> ParseSoftmax(const OpCall& call) {
  SoftmaxCall p;
  p.backward = call.name.ends_with("_backward_data");
  p.flags = (call.name.starts_with("aten::_log") ? kLogarithm : 0) |
            (call.name == "aten::_safe_softmax" ? kSafe : 0);
  const TensorDesc* first = call.InputTensor(0);
  const TensorDesc* x = call.InputTensor(p.backward ? 1 : 0);
  const TensorDesc* y = call.OutputTensor(0);
  if (first == nullptr || x == nullptr || y == nullptr || first->shape != x->shape ||
      y->shape != x->shape || first->dtype != x->dtype || !IsFloatKernelType(x->dtype) ||
      !IsFloatKernelType(y->dtype)) {
    return std::nullopt;
  }
  const auto dim = WrapDim(call.Argument(p.backward ? 2 : 1).AsNumber<std::int64_t>(0), Rank(*x));
  if (!dim) {
    return std::nullopt;
  }
  p.n = ExtentOf(*x, *dim);
  p.rows = p.n == 0 ? 0 : Count(*x) / p.n;
  p.g = WithLast(*first, *dim);
  p.x = WithLast(*x, *dim);
  p.y = WithLast(*y, *dim);
  return p;
}

void ForwardRow(const double* x, double* y, std::size_t n, std::int32_t flags) {
  double top = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < n; ++i) {
    top = std::max(top, x[i]);
  }
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    sum += std::exp(x[i] - top);
  }
  for (std::size_t i = 0; i < n; ++i) {
    y[i] = (flags & kLogarithm) != 0 ? x[i] - top - std::log(sum) : std::exp(x[i] - top) / sum;
    if ((flags & kSafe) != 0 && std::isinf(top) && top < 0) {
      y[i] = 0;
    }
  }
}

// Softmax: dx = y (g - sum g y). Log-softmax, y = x - log sum exp x: dx = g - exp(y) sum g.
void BackwardRow(const double* g, const double* y, double* dx, std::size_t n, std::int32_t flags) {
  const bool logarithm = (flags & kLogarithm) != 0;
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    sum += logarithm ? g[i] : g[i] * y[i];
  }
  for (std::size_t i = 0; i < n; ++i) {
    dx[i] = logarithm ? g[i] - std::exp(y[i]) * sum : y[i] * (g[i] - sum);
  }
}

// y = exp(x - top) / sum, or its logarithm. `powers`: a row's, unused for the logarithm.
void RunForwardRow(const float* x, float* y, std::int64_t n, std::int32_t flags,
                   const NonTemporalStore& store, float* powers) {
  const bool logarithm = (flags & kLogarithm) != 0;
  const float top = loops::Max(x, n);
  const auto sum =
      static_cast<float>(logarithm ? loops::SumOfExp(x, top, n) : loops::ExpSum(x, top, powers, n));
  const bool nothing = (flags & kSafe) != 0 && std::isinf(top) && top < 0;
  const float scale = nothing ? 0 : logarithm ? 1 : 1 / sum;
  const float shift = logarithm ? -top - std::log(sum) : 0;
  const float* const from = logarithm ? x : powers;
  store.Write(y, n, {x + NonTemporalStore::AheadOfRow(n)},
              [&](std::int64_t i, float* to, std::int64_t count) {
                loops::ScaleShift(from + i, scale, shift, to, count);
              });
}

void RunBackwardRow(const float* g, const float* y, float* dx, std::int64_t n, std::int32_t flags,
                    const NonTemporalStore& store) {
  const bool logarithm = (flags & kLogarithm) != 0;
  const auto sum =
      static_cast<float>(logarithm ? loops::Sum(g, n) : loops::SumProducts(g, y, 0, n));
  const auto gradient = logarithm ? loops::LogSoftmaxGradient : loops::SoftmaxGradient;
  const std::int64_t ahead = NonTemporalStore::AheadOfRow(n);
  store.Write(dx, n, {g + ahead, y + ahead}, [&](std::int64_t i, float* to, std::int64_t count) {
    gradient(g + i, y + i, sum, to, count);
  });
}

Status ReferenceSoftmax(const SoftmaxCall& p, const HostBindings& memory) {
  REPRISE_ASSIGN(const Doubles g, ReadDoubles(p.g, memory));
  REPRISE_ASSIGN(const Doubles x, ReadDoubles(p.x, memory));
  Doubles y(x.size());
  const auto n = static_cast<std::size_t>(p.n);
  for (std::size_t at = 0; at < x.size(); at += n) {
    if (p.backward) {
      BackwardRow(&g[at], &x[at], &y[at], n, p.flags);
    } else {
      ForwardRow(&x[at], &y[at], n, p.flags);
    }
  }
  return WriteDoubles(p.y, memory, y);
}

Status RunSoftmaxOnHost(const SoftmaxCall& p, const HostBindings& memory) {
  if (!AreFloats({&p.g, &p.x, &p.y})) {
    return ReferenceSoftmax(p, memory);
  }
  REPRISE_ASSIGN(const FloatsIn g, FloatsIn::Read(p.g, memory));
  REPRISE_ASSIGN(const FloatsIn x, FloatsIn::Read(p.x, memory));
  REPRISE_ASSIGN(FloatsOut y, FloatsOut::Write(p.y, memory));
  const double row_bytes = 3.0 * sizeof(float) * static_cast<double>(p.n);
  ParallelFor(p.rows, GrainSize(row_bytes), [&](std::int64_t begin, std::int64_t end) {
    const NonTemporalStore store(p.rows * p.n * static_cast<std::int64_t>(sizeof(float)));
    // Kept from call to call: fresh memory takes longer than what is done in it.
    static thread_local std::vector<float> powers;
    powers.resize(std::max(powers.size(), static_cast<std::size_t>(p.n)));
    for (std::int64_t at = begin * p.n; at < end * p.n; at += p.n) {
      if (p.backward) {
        RunBackwardRow(g.data() + at, x.data() + at, y.data() + at, p.n, p.flags, store);
      } else {
        RunForwardRow(x.data() + at, y.data() + at, p.n, p.flags, store, powers.data());
      }
    }
  });
  return y.Store(memory);
}

void LowerSoftmax(const SoftmaxCall& p, RowLowering& rows) {
  rows.UseTypes({{"X", p.x.dtype}, {"Y", p.y.dtype}}, AccumulatorOf(p.x.dtype));
  const DenseOperand x = rows.Read(p.x);
  const double work = static_cast<double>(p.n) * kSoftmaxWork;
  if (p.backward) {
    rows.LaunchRows("softmax_backward", p.rows, work, rows.Read(p.g), x, rows.Write(p.y), p.rows,
                    p.n, p.flags | rows.NonTemporal(p.y));
  } else {
    rows.LaunchRows("softmax", p.rows, work, x, rows.Write(p.y), p.rows, p.n,
                    p.flags | rows.NonTemporal(p.y));
  }
}

std::vector<OpCall> SoftmaxSamples() {
  using samples::Bool, samples::Int, samples::None;
  std::vector<OpCall> calls;
  const auto add = [&calls](DType in, DType out, const Dims& shape, const Dims& strides,
                            std::int64_t dim) {
    samples::SampleTensors t;
    const TensorDesc x = t.Strided(in, shape, strides, 1);
    const TensorDesc y = t.Tensor(out, shape);
    const TensorDesc g = t.Strided(out, shape, strides);
    const TensorDesc dx = t.Tensor(in, shape);
    for (const char* name : {"aten::_softmax", "aten::_log_softmax"}) {
      calls.push_back({name, {{x}, Int(dim), Bool(in != out)}, {{y}}});
    }
    calls.push_back({"aten::_safe_softmax", {{x}, Int(dim), None()}, {{y}}});
    for (const char* name : {"aten::_softmax_backward_data", "aten::_log_softmax_backward_data"}) {
      calls.push_back({name, {{g}, {y}, Int(dim), Int(6)}, {{dx}}});
    }
  };
  add(DType::kFloat32, DType::kFloat32, {5, 37}, {40, 1}, -1);
  add(DType::kFloat32, DType::kFloat32, {3, 19, 4}, {76, 4, 1}, 1);
  add(DType::kFloat32, DType::kFloat32, {}, {}, 0);
  add(DType::kFloat64, DType::kFloat64, {4, 9}, {1, 4}, 1);
  add(DType::kBFloat16, DType::kBFloat16, {4, 21}, {21, 1}, 1);
  add(DType::kFloat16, DType::kFloat32, {4, 21}, {21, 1}, 1);
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeSoftmax() {
  return MakeParsedKernel(
      {"softmax", "softmax.cl", SoftmaxSamples},
      CallForm<SoftmaxCall>{ParseSoftmax, ReferenceSoftmax, LowerSoftmax, RunSoftmaxOnHost});
}

}  // namespace reprise
