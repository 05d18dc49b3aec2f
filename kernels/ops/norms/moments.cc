// Variance, standard deviation and log-sum-exp over dimensions: kernels/ops/norms/moments.cl.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/ops/reductions/reduction_plan.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

constexpr std::int32_t kRoot = 1;
constexpr std::int32_t kWantMean = 2;

struct MomentsCall {
  TensorDesc view;  // rows of what becomes one result each
  const TensorDesc* y = nullptr;
  const TensorDesc* mean = nullptr;
  std::int64_t rows = 0;
  std::int64_t n = 0;
  double correction = 1;
  bool root = false;
  bool exponential = false;
};

// var(self, unbiased), var(self, dim, unbiased, keepdim), var(self, dim?, *, correction?, keepdim);
// logsumexp(self, dim, keepdim)
std::optional<MomentsCall> ParseMoments(const OpCall& call) {
  MomentsCall p;
  const TensorDesc* x = call.InputTensor(0);
  p.y = call.OutputTensor(0);
  p.exponential = call.name == "aten::logsumexp";
  p.root = call.name == "aten::std";
  if (call.name == "aten::var_mean") {
    p.mean = call.OutputTensor(1);
  }
  if (x == nullptr || p.y == nullptr || !IsFloatKernelType(x->dtype) || p.y->dtype != x->dtype ||
      (p.mean != nullptr && p.mean->dtype != x->dtype)) {
    return std::nullopt;
  }
  Value dims = call.Argument(1);
  if (!p.exponential) {
    const Value& how = IsBool(dims) ? dims : call.Argument(2);
    p.correction = IsBool(how) ? (TruthOr(how, true) ? 1 : 0) : NumberOr(how, 1);
    if (IsBool(dims)) {
      dims = {};
    }
  }
  const auto reduced = ReducedDims(dims, Rank(*x));
  if (!reduced) {
    return std::nullopt;
  }
  p.view = ReducedLast(*x, *reduced);
  p.rows = Count(*p.y);
  p.n = p.rows == 0 ? 0 : Count(*x) / p.rows;
  const bool fits = p.rows * p.n == Count(*x) && (p.mean == nullptr || Count(*p.mean) == p.rows);
  return fits ? std::optional(p) : std::nullopt;
}

double LogSumExp(const double* x, std::size_t n) {
  double top = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < n; ++i) {
    top = std::max(top, x[i]);
  }
  top = std::isinf(top) ? 0 : top;
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    sum += std::exp(x[i] - top);
  }
  return top + std::log(sum);
}

Status ReferenceMoments(const MomentsCall& p, const HostBindings& memory) {
  REPRISE_ASSIGN(const Doubles x, ReadDoubles(p.view, memory));
  const auto n = static_cast<std::size_t>(p.n);
  Doubles y;
  Doubles means;
  for (std::size_t at = 0; at < x.size(); at += n) {
    double mean = 0;
    double square = 0;
    for (std::size_t i = 0; i < n; ++i) {
      mean += x[at + i] / static_cast<double>(n);
    }
    for (std::size_t i = 0; i < n; ++i) {
      square += (x[at + i] - mean) * (x[at + i] - mean);
    }
    const double var = square / std::max(0.0, static_cast<double>(n) - p.correction);
    y.push_back(p.exponential ? LogSumExp(&x[at], n) : p.root ? std::sqrt(var) : var);
    means.push_back(mean);
  }
  REPRISE_TRY(WriteDoublesIf(p.mean, memory, means));
  return WriteDoubles(*p.y, memory, y);
}

void LowerMoments(const MomentsCall& p, RowLowering& rows) {
  rows.UseTypes({{"X", p.view.dtype}, {"Y", p.y->dtype}}, AccumulatorOf(p.view.dtype));
  const DenseOperand x = rows.Read(p.view);
  const DenseOperand y = rows.Write(*p.y);
  const DenseOperand mean = rows.WriteOr(p.mean, y);
  const double work = static_cast<double>(p.n) * 2;
  if (p.exponential) {
    rows.LaunchRows("log_sum_exp", p.rows, work, x, y, p.rows, p.n);
  } else {
    const std::int32_t flags = (p.root ? kRoot : 0) | (p.mean != nullptr ? kWantMean : 0);
    rows.LaunchRows("variance", p.rows, work, x, y, mean, p.rows, p.n,
                    static_cast<float>(p.correction), flags);
  }
}

std::vector<OpCall> MomentsSamples() {
  using samples::Bool, samples::Int, samples::Ints, samples::None;
  std::vector<OpCall> calls;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBFloat16}) {
    samples::SampleTensors t;
    const TensorDesc x = t.Strided(dtype, {4, 5, 19}, {100, 19, 1}, 2);
    const TensorDesc one = t.Tensor(dtype, {});
    const TensorDesc rows = t.Tensor(dtype, {4, 5});
    const TensorDesc means = t.Tensor(dtype, {4, 5});
    const TensorDesc middle = t.Tensor(dtype, {4, 1, 19});
    calls.push_back({"aten::var", {{x}, Bool(false)}, {{one}}});
    calls.push_back({"aten::var", {{x}, Ints({2}), Bool(true), Bool(false)}, {{rows}}});
    calls.push_back({"aten::std", {{x}, Ints({1}), Int(2), Bool(true)}, {{middle}}});
    calls.push_back({"aten::var_mean", {{x}, Ints({-1}), None(), Bool(false)}, {{rows}, {means}}});
    calls.push_back({"aten::logsumexp", {{x}, Ints({1}), Bool(true)}, {{middle}}});
  }
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeMoments() {
  return MakeParsedKernel({"moments", "moments.cl", MomentsSamples},
                          CallForm<MomentsCall>{ParseMoments, ReferenceMoments, LowerMoments});
}

}  // namespace reprise
