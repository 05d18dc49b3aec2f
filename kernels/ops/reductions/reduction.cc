// Sums, means, products, extremes, truth and norms over dimensions:
// kernels/ops/reductions/reduction.cl.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "kernels/cpu/parallel_for.h"
#include "kernels/ops/common/host_floats.h"
#include "kernels/ops/common/host_loops.h"
#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/ops/reductions/reduction_plan.h"

namespace reprise {
namespace {

// What one operator does, for the device by name and for the reference by function: `map` of each
// element, `combine` of two, `finish` of the total and the number of elements.
struct Meaning {
  ReductionSteps steps;
  double neutral = 0;
  std::function<double(double)> map;
  std::function<double(double, double)> combine;
  std::function<double(double, double)> finish;
};
struct Part {
  Meaning meaning;
  const TensorDesc* y = nullptr;
};
struct ReductionCall {
  const TensorDesc* x = nullptr;
  std::vector<bool> reduced;
  std::vector<Part> parts;
  DType accumulator = DType::kFloat32;
};

double Keep(double v) { return v; }
double Truth(double v) { return v != 0 ? 1 : 0; }
double Add(double a, double b) { return a + b; }
double Times(double a, double b) { return a * b; }
// NaN wins.
double Larger(double a, double b) { return b > a || std::isnan(b) ? b : a; }
double Smaller(double a, double b) { return b < a || std::isnan(b) ? b : a; }
double AsIs(double total, double) { return total; }
double Mean(double total, double count) { return total / count; }

Meaning NormMeaning(double p) {
  const auto magnitude = [](double v) { return std::fabs(v); };
  if (p == 2) {
    return {{"sum_square", "sum", ReductionFinish::kSqrt, p},
            0,
            [](double v) { return v * v; },
            Add,
            [](double total, double) { return std::sqrt(total); }};
  }
  if (p == 1) {
    return {{"sum_abs", "sum", ReductionFinish::kNone, p}, 0, magnitude, Add, AsIs};
  }
  if (p == 0) {
    return {{"count_true", "sum", ReductionFinish::kNone, p}, 0, Truth, Add, AsIs};
  }
  if (p == kInfinity) {
    return {{"max_abs", "max", ReductionFinish::kNone, p}, 0, magnitude, Larger, AsIs};
  }
  if (p == -kInfinity) {
    return {{"min_abs", "min", ReductionFinish::kNone, p}, kInfinity, magnitude, Smaller, AsIs};
  }
  return {{"sum_power", "sum", ReductionFinish::kRoot, p},
          0,
          [p](double v) { return std::pow(std::fabs(v), p); },
          Add,
          [p](double total, double) { return std::pow(total, 1 / p); }};
}

Meaning MeaningOf(std::string_view op) {
  if (op == "mean") {
    return {{"sum", "sum", ReductionFinish::kMean}, 0, Keep, Add, Mean};
  }
  if (op == "nansum") {
    return {{"sum_no_nan", "sum"}, 0, [](double v) { return std::isnan(v) ? 0 : v; }, Add, AsIs};
  }
  if (op == "prod") {
    return {{"prod", "prod"}, 1, Keep, Times, AsIs};
  }
  if (op == "max" || op == "amax") {
    return {{"max", "max"}, -kInfinity, Keep, Larger, AsIs};
  }
  if (op == "min" || op == "amin") {
    return {{"min", "min"}, kInfinity, Keep, Smaller, AsIs};
  }
  if (op == "any") {
    return {{"count_true", "sum", ReductionFinish::kTruth}, 0, Truth, Larger, AsIs};
  }
  if (op == "all") {
    return {{"all_true", "min", ReductionFinish::kTruth}, 1, Truth, Smaller, AsIs};
  }
  if (op == "count_nonzero") {
    return {{"count_true", "sum"}, 0, Truth, Add, AsIs};
  }
  return {{"sum", "sum"}, 0, Keep, Add, AsIs};
}

// Where the dimensions are among the arguments: none for the overloads over all elements,
// sum(self, dtype), prod(self, dtype), max(self), norm(self, p).
std::optional<std::size_t> DimsArgument(std::string_view op, const OpCall& call) {
  const std::size_t given = call.inputs.size();
  if (op == "norm" || op == "linalg_vector_norm") {
    return given > 2 && !IsInt(call.Argument(2)) ? std::optional<std::size_t>(2) : std::nullopt;
  }
  if ((op == "sum" || op == "mean" || op == "prod" || op == "nansum") && given <= 2) {
    return std::nullopt;
  }
  return given > 1 ? std::optional<std::size_t>(1) : std::nullopt;
}

// Integers and bool are computed in int64 unless the result is floating, as PyTorch converts first.
bool ChooseAccumulator(ReductionCall& p, const TensorDesc& y, const Meaning& meaning) {
  const bool truth = std::string_view(meaning.steps.first).ends_with("_true");
  if (!IsKernelType(p.x->dtype) || !IsKernelType(y.dtype)) {
    return false;
  }
  if (IsFloating(p.x->dtype) && IsIntegral(y.dtype) && !truth) {
    return false;
  }
  const bool wide = p.x->dtype == DType::kFloat64 || y.dtype == DType::kFloat64;
  if (IsIntegral(p.x->dtype) && IsIntegral(y.dtype)) {
    p.accumulator = DType::kInt64;
  } else {
    p.accumulator = wide ? DType::kFloat64 : DType::kFloat32;
  }
  return true;
}

std::optional<ReductionCall> ParseReduction(const OpCall& call) {
  ReductionCall p;
  p.x = call.InputTensor(0);
  if (p.x == nullptr || !call.name.starts_with("aten::")) {
    return std::nullopt;
  }
  const std::string_view op = std::string_view(call.name).substr(6);
  // max(self, other) and max(self, dim) are other kernels'.
  if ((op == "max" || op == "min") && call.inputs.size() > 1) {
    return std::nullopt;
  }
  const std::optional<std::size_t> dims = DimsArgument(op, call);
  const auto reduced = ReducedDims(dims ? call.Argument(*dims) : Value{}, Rank(*p.x));
  if (!reduced) {
    return std::nullopt;
  }
  p.reduced = *reduced;
  if (op == "aminmax") {
    p.parts = {{MeaningOf("amin"), call.OutputTensor(0)},
               {MeaningOf("amax"), call.OutputTensor(1)}};
  } else if (op == "norm" || op == "linalg_vector_norm") {
    p.parts = {{NormMeaning(NumberOr(call.Argument(1), 2)), call.OutputTensor(0)}};
  } else {
    p.parts = {{MeaningOf(op), call.OutputTensor(0)}};
  }
  const ReductionShape shape = ShapeReduction(*p.x, p.reduced);
  for (const Part& part : p.parts) {
    if (part.y == nullptr || Count(*part.y) != shape.outer * shape.inner ||
        !ChooseAccumulator(p, *part.y, part.meaning)) {
      return std::nullopt;
    }
  }
  // int64 programs have no absolute values and powers.
  return p.accumulator == DType::kInt64 && op.ends_with("norm") ? std::nullopt : std::optional(p);
}

// Exactly, in int64, where the device computes in int64.
Integers ReduceIntegers(const Integers& x, std::size_t rows, std::size_t n, const Meaning& m) {
  Integers y;
  const std::string_view first = m.steps.first;
  for (std::size_t row = 0; row < rows; ++row) {
    std::uint64_t sum = 0;  // wraps as int64 does on every device
    std::uint64_t product = 1;
    std::int64_t most = std::numeric_limits<std::int64_t>::min();
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t truths = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t v = x[row * n + i];
      sum += static_cast<std::uint64_t>(v);
      product *= static_cast<std::uint64_t>(v);
      most = std::max(most, v);
      least = std::min(least, v);
      truths += v != 0 ? 1 : 0;
    }
    if (first == "sum" || first == "sum_no_nan") {
      y.push_back(static_cast<std::int64_t>(sum));
    } else if (first == "prod") {
      y.push_back(static_cast<std::int64_t>(product));
    } else if (first == "max") {
      y.push_back(most);
    } else if (first == "min") {
      y.push_back(least);
    } else if (first == "all_true") {
      y.push_back(truths == static_cast<std::int64_t>(n) ? 1 : 0);
    } else {
      y.push_back(m.steps.finish == ReductionFinish::kTruth ? std::min<std::int64_t>(truths, 1)
                                                            : truths);
    }
  }
  return y;
}

Doubles ReduceDoubles(const Doubles& x, std::size_t rows, std::size_t n, const Meaning& m) {
  Doubles y;
  for (std::size_t row = 0; row < rows; ++row) {
    double total = m.neutral;
    for (std::size_t i = 0; i < n; ++i) {
      total = m.combine(total, m.map(x[row * n + i]));
    }
    y.push_back(m.finish(total, static_cast<double>(n)));
  }
  return y;
}

// The sums among the meanings, which are nearly all that training does.
std::optional<loops::Map> FastMap(const Meaning& m) {
  const std::string_view first = m.steps.first;
  return first == "sum"          ? std::optional(loops::Map::kValue)
         : first == "sum_abs"    ? std::optional(loops::Map::kMagnitude)
         : first == "sum_square" ? std::optional(loops::Map::kSquare)
                                 : std::nullopt;
}

// In pieces of rows that many cores share; which ones does not depend on how many cores there are.
Doubles SumRows(const float* x, loops::Map map, std::int64_t rows, std::int64_t n) {
  constexpr std::int64_t kPiece = 64 << 10;
  const std::int64_t pieces = (n + kPiece - 1) / kPiece;
  Doubles parts(static_cast<std::size_t>(rows * pieces), 0);
  const double bytes = sizeof(float) * static_cast<double>(std::min(n, kPiece));
  ParallelFor(rows * pieces, GrainSize(bytes), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t at = i % pieces * kPiece;
      parts[static_cast<std::size_t>(i)] =
          loops::SumOf(x + i / pieces * n + at, map, std::min(kPiece, n - at));
    }
  });
  if (pieces == 1) {
    return parts;
  }
  Doubles sums(static_cast<std::size_t>(rows), 0);
  for (std::int64_t i = 0; i < rows * pieces; ++i) {
    sums[static_cast<std::size_t>(i / pieces)] += parts[static_cast<std::size_t>(i)];
  }
  return sums;
}

// Each (n, inner) in bands of rows that many cores share, as above.
Doubles SumColumns(const float* x, loops::Map map, const ReductionShape& s) {
  constexpr std::int64_t kMaxBands = 16;
  constexpr std::int64_t kFewestRows = 64;
  const std::int64_t bands =
      s.outer >= kMaxBands ? 1 : std::clamp<std::int64_t>(s.n / kFewestRows, 1, kMaxBands);
  const std::int64_t rows = (s.n + bands - 1) / bands;
  Doubles parts(static_cast<std::size_t>(s.outer * bands * s.inner), 0);
  const double bytes = sizeof(float) * static_cast<double>(rows * s.inner);
  ParallelFor(s.outer * bands, GrainSize(bytes), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = std::min(i % bands * rows, s.n);
      loops::SumColumns(x + (i / bands * s.n + first) * s.inner, map, std::min(rows, s.n - first),
                        s.inner, parts.data() + i * s.inner);
    }
  });
  if (bands == 1) {
    return parts;
  }
  Doubles sums(static_cast<std::size_t>(s.outer * s.inner), 0);
  for (std::int64_t i = 0; i < s.outer * bands; ++i) {
    for (std::int64_t column = 0; column < s.inner; ++column) {
      sums[static_cast<std::size_t>(i / bands * s.inner + column)] +=
          parts[static_cast<std::size_t>(i * s.inner + column)];
    }
  }
  return sums;
}

Status ReferenceReduction(const ReductionCall& p, const HostBindings& memory) {
  const TensorDesc view = ReducedLast(*p.x, p.reduced);
  for (const Part& part : p.parts) {
    const auto rows = static_cast<std::size_t>(Count(*part.y));
    if (p.accumulator == DType::kInt64) {
      REPRISE_ASSIGN(const Integers x, ReadIntegers(view, memory));
      REPRISE_TRY(WriteIntegers(
          *part.y, memory, ReduceIntegers(x, rows, rows == 0 ? 0 : x.size() / rows, part.meaning)));
    } else {
      REPRISE_ASSIGN(const Doubles x, ReadDoubles(view, memory));
      REPRISE_TRY(WriteDoubles(
          *part.y, memory, ReduceDoubles(x, rows, rows == 0 ? 0 : x.size() / rows, part.meaning)));
    }
  }
  return {};
}

Status RunReductionOnHost(const ReductionCall& p, const HostBindings& memory) {
  const std::optional<loops::Map> map = FastMap(p.parts.front().meaning);
  if (!map || p.parts.size() != 1 || !AreFloats({p.x, p.parts[0].y}) || Count(*p.x) == 0) {
    return ReferenceReduction(p, memory);
  }
  const ReductionShape s = ShapeReduction(*p.x, p.reduced);
  REPRISE_ASSIGN(const FloatsIn x, FloatsIn::Read(s.view, memory));
  Doubles y = s.inner == 1 ? SumRows(x.data(), *map, s.outer, s.n) : SumColumns(x.data(), *map, s);
  for (double& total : y) {
    total = p.parts[0].meaning.finish(total, static_cast<double>(s.n));
  }
  return WriteDoubles(*p.parts[0].y, memory, y);
}

void LowerReduction(const ReductionCall& p, RowLowering& rows) {
  ReductionJob job;
  job.shape = ShapeReduction(*p.x, p.reduced);
  job.x_type = p.x->dtype;
  job.accumulator = p.accumulator;
  job.x = rows.Read(job.shape.view);
  for (const Part& part : p.parts) {
    job.steps = part.meaning.steps;
    job.y_type = part.y->dtype;
    job.y = rows.Write(*part.y);
    AppendReduction(rows, job);
  }
}

}  // namespace

std::unique_ptr<Kernel> MakeReduction() {
  return MakeParsedKernel({"reduction", "reduction.cl", ReductionSamples},
                          CallForm<ReductionCall>{ParseReduction, ReferenceReduction,
                                                  LowerReduction, RunReductionOnHost});
}

}  // namespace reprise
