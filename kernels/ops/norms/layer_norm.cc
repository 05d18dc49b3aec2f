// Layer norm and RMS norm: kernels/ops/norms/layer_norm.cl.
#include <cmath>
#include <limits>
#include <optional>

#include "kernels/cpu/non_temporal_store.h"
#include "kernels/cpu/parallel_for.h"
#include "kernels/ops/common/host_floats.h"
#include "kernels/ops/common/host_loops.h"
#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/ops/norms/norm.h"
#include "kernels/ops/norms/norm_loops.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

struct LayerNormCall : NormOperands {
  std::int64_t rows = 0;
  std::int64_t n = 0;
  double eps = 0;
  bool centered = true;
};

// The statistics of rows of the last `normalized_shape` elements.
bool SplitRows(const OpCall& call, std::size_t shape_argument, LayerNormCall& p) {
  p.n = ElementCount(call.InputInts(shape_argument));
  p.rows = p.n > 0 ? Count(*p.x) / p.n : 0;
  return p.n > 0 && p.rows * p.n == Count(*p.x) && Count(*p.rstd) == p.rows;
}

double EpsilonOf(const Value& value, DType dtype) {
  const double fallback = dtype == DType::kFloat64 ? std::numeric_limits<double>::epsilon()
                                                   : std::numeric_limits<float>::epsilon();
  return NumberOr(value, fallback);
}

// aten::native_layer_norm(input, normalized_shape, weight?, bias?, eps) -> (y, mean, rstd)
// aten::_fused_rms_norm(input, normalized_shape, weight?, eps?) -> (y, rstd)
std::optional<LayerNormCall> ParseLayerForward(const OpCall& call) {
  LayerNormCall f;
  f.centered = call.name == "aten::native_layer_norm";
  f.x = call.InputTensor(0);
  f.weight = call.InputTensor(2);
  f.bias = f.centered ? call.InputTensor(3) : nullptr;
  f.y = call.OutputTensor(0);
  f.mean = f.centered ? call.OutputTensor(1) : nullptr;
  f.rstd = call.OutputTensor(f.centered ? 2 : 1);
  if (call.name.ends_with("_backward") || (f.centered && f.mean == nullptr) || !f.Fit() ||
      !SplitRows(call, 1, f)) {
    return std::nullopt;
  }
  f.eps = EpsilonOf(call.Argument(f.centered ? 4 : 3), f.x->dtype);
  return f;
}

// aten::native_layer_norm_backward(grad, input, shape, mean, rstd, weight?, bias?, mask[3])
// aten::_fused_rms_norm_backward(grad, input, shape, rstd, weight?, mask[2])
std::optional<LayerNormCall> ParseLayerBackward(const OpCall& call) {
  LayerNormCall b;
  b.centered = call.name == "aten::native_layer_norm_backward";
  const std::size_t rstd = b.centered ? 4 : 3;
  b.g = call.InputTensor(0);
  b.x = call.InputTensor(1);
  b.mean = b.centered ? call.InputTensor(3) : nullptr;
  b.rstd = call.InputTensor(rstd);
  b.weight = call.InputTensor(rstd + 1);
  b.WantGradients(call, call.Argument(b.centered ? 7 : 5));
  if (!call.name.ends_with("_backward") || b.g == nullptr || (b.centered && b.mean == nullptr) ||
      !b.Fit() || !SplitRows(call, 2, b)) {
    return std::nullopt;
  }
  return b;
}

Status ReferenceForward(const LayerNormCall& f, const HostBindings& memory) {
  REPRISE_ASSIGN(const Doubles x, ReadDoubles(*f.x, memory));
  REPRISE_ASSIGN(const Doubles w, ReadDoublesOr(f.weight, memory, f.n, 1));
  REPRISE_ASSIGN(const Doubles b, ReadDoublesOr(f.bias, memory, f.n, 0));
  Doubles y(x.size());
  Doubles means;
  Doubles rstds;
  const auto n = static_cast<std::size_t>(f.n);
  for (std::size_t begin = 0; begin < x.size(); begin += n) {
    double mean = 0;
    double square = 0;
    for (std::size_t i = 0; i < n && f.centered; ++i) {
      mean += x[begin + i] / static_cast<double>(n);
    }
    for (std::size_t i = 0; i < n; ++i) {
      square += (x[begin + i] - mean) * (x[begin + i] - mean) / static_cast<double>(n);
    }
    const double rstd = 1 / std::sqrt(square + f.eps);
    for (std::size_t i = 0; i < n; ++i) {
      y[begin + i] = (x[begin + i] - mean) * rstd * w[i] + b[i];
    }
    means.push_back(mean);
    rstds.push_back(rstd);
  }
  REPRISE_TRY(WriteDoubles(*f.y, memory, y));
  REPRISE_TRY(WriteDoublesIf(f.mean, memory, means));
  return WriteDoubles(*f.rstd, memory, rstds);
}

// With h = (x - mean) rstd, y = h w + b, and m(.) the mean over a row:
// dx = rstd (g w - m(g w) - h m(g w h)); without a mean (RMS) the middle term is absent.
Status ReferenceBackward(const LayerNormCall& b, const HostBindings& memory) {
  REPRISE_ASSIGN(const Doubles g, ReadDoubles(*b.g, memory));
  REPRISE_ASSIGN(const Doubles x, ReadDoubles(*b.x, memory));
  REPRISE_ASSIGN(const Doubles w, ReadDoublesOr(b.weight, memory, b.n, 1));
  REPRISE_ASSIGN(const Doubles mean, ReadDoublesOr(b.mean, memory, b.rows, 0));
  REPRISE_ASSIGN(const Doubles rstd, ReadDoubles(*b.rstd, memory));
  const auto n = static_cast<std::size_t>(b.n);
  Doubles dx(x.size());
  Doubles dw(n, 0);
  Doubles db(n, 0);
  for (std::size_t row = 0; row < static_cast<std::size_t>(b.rows); ++row) {
    const auto h = [&](std::size_t i) { return (x[row * n + i] - mean[row]) * rstd[row]; };
    double gw = 0;
    double gwh = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double gi = g[row * n + i];
      gw += b.centered ? gi * w[i] / static_cast<double>(n) : 0;
      gwh += gi * w[i] * h(i) / static_cast<double>(n);
      dw[i] += gi * h(i);
      db[i] += gi;
    }
    for (std::size_t i = 0; i < n; ++i) {
      dx[row * n + i] = rstd[row] * (g[row * n + i] * w[i] - gw - h(i) * gwh);
    }
  }
  REPRISE_TRY(WriteDoublesIf(b.dx, memory, dx));
  REPRISE_TRY(WriteDoublesIf(b.dw, memory, dw));
  return WriteDoublesIf(b.db, memory, db);
}

// An element is read and written; its second reading is from a cache.
constexpr double kRowBytes = 8;

Doubles SumOfBlocks(const std::vector<float>& blocks, std::int64_t n) {
  Doubles sums(static_cast<std::size_t>(n), 0);
  loops::SumColumns(blocks.data(), loops::Map::kValue, std::ssize(blocks) / n, n, sums.data());
  return sums;
}

Status RunForward(const LayerNormCall& f, const HostBindings& memory) {
  if (!AreFloats({f.x})) {
    return ReferenceForward(f, memory);
  }
  REPRISE_ASSIGN(const FloatsIn x, FloatsIn::Read(*f.x, memory));
  REPRISE_ASSIGN(const FloatsIn w, FloatsIn::ReadOr(f.weight, memory, f.n, 1));
  REPRISE_ASSIGN(const FloatsIn b, FloatsIn::ReadOr(f.bias, memory, f.n, 0));
  REPRISE_ASSIGN(FloatsOut y, FloatsOut::Write(*f.y, memory));
  REPRISE_ASSIGN(FloatsOut means, FloatsOut::WriteOr(f.mean, memory, f.rows));
  REPRISE_ASSIGN(FloatsOut rstds, FloatsOut::Write(*f.rstd, memory));
  const auto n = static_cast<double>(f.n);
  ParallelFor(f.rows, GrainSize(kRowBytes * n), [&](std::int64_t begin, std::int64_t end) {
    const NonTemporalStore store(f.rows * f.n * static_cast<std::int64_t>(sizeof(float)));
    for (std::int64_t row = begin; row < end; ++row) {
      const float* from = x.data() + row * f.n;
      const auto mean = static_cast<float>(f.centered ? loops::Sum(from, f.n) / n : 0);
      const auto rstd =
          static_cast<float>(1 / std::sqrt(loops::SumSquares(from, mean, f.n) / n + f.eps));
      store.Write(y.data() + row * f.n, f.n, {from + NonTemporalStore::AheadOfRow(f.n)},
                  [&](std::int64_t i, float* to, std::int64_t count) {
                    loops::Normalise(from + i, {mean, rstd}, w.data() + i, b.data() + i, to, count);
                  });
      means[row] = mean;
      rstds[row] = rstd;
    }
  });
  REPRISE_TRY(y.Store(memory));
  REPRISE_TRY(means.Store(memory));
  return rstds.Store(memory);
}

Status RunBackward(const LayerNormCall& b, const HostBindings& memory) {
  if (!AreFloats({b.x})) {
    return ReferenceBackward(b, memory);
  }
  REPRISE_ASSIGN(const FloatsIn g, FloatsIn::Read(*b.g, memory));
  REPRISE_ASSIGN(const FloatsIn x, FloatsIn::Read(*b.x, memory));
  REPRISE_ASSIGN(const FloatsIn w, FloatsIn::ReadOr(b.weight, memory, b.n, 1));
  REPRISE_ASSIGN(const FloatsIn mean, FloatsIn::ReadOr(b.mean, memory, b.rows, 0));
  REPRISE_ASSIGN(const FloatsIn rstd, FloatsIn::Read(*b.rstd, memory));
  // Each block of rows has sums of its own, so that the result does not depend on the threads.
  const std::int64_t block = std::max<std::int64_t>(64, (b.rows + 31) / 32);
  const std::int64_t blocks = (b.rows + block - 1) / block;
  // Kept from call to call: fresh memory takes longer than what is done in it.
  static thread_local std::vector<float> dw, db;
  dw.assign(static_cast<std::size_t>(blocks * b.n), 0);
  db.assign(dw.size(), 0);
  REPRISE_ASSIGN(FloatsOut dx, FloatsOut::WriteOr(b.dx, memory, 0));
  const auto n = static_cast<float>(b.n);
  float* const dw_sums = dw.data();  // this thread's, for all
  float* const db_sums = db.data();
  const std::int64_t ahead = NonTemporalStore::AheadOfRow(b.n);
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    const NonTemporalStore store(b.rows * b.n * static_cast<std::int64_t>(sizeof(float)));
    for (std::int64_t r = begin; r < end; ++r) {
      const loops::NormRow row{
          g.data() + r * b.n, x.data() + r * b.n, w.data(), {mean[r], rstd[r]}};
      const std::int64_t sums_at = r / block * b.n;
      const loops::NormSums sums = loops::SumsOfRow(row, dw_sums + sums_at, db_sums + sums_at, b.n);
      if (b.dx == nullptr) {
        continue;
      }
      const float mean_gw = b.centered ? static_cast<float>(sums.gw) / n : 0;
      const float mean_gwh = static_cast<float>(sums.gwh) / n;
      store.Write(dx.data() + r * b.n, b.n, {row.g + ahead, row.x + ahead},
                  [&](std::int64_t i, float* to, std::int64_t count) {
                    loops::GradientOfRow({row.g + i, row.x + i, row.w + i, row.normal}, mean_gw,
                                         mean_gwh, to, count);
                  });
    }
  };
  ParallelFor(blocks, GrainSize(3 * sizeof(float) * n * static_cast<double>(block)),
              [&](std::int64_t begin, std::int64_t end) {
                run(begin * block, std::min(end * block, b.rows));
              });
  REPRISE_TRY(dx.Store(memory));
  REPRISE_TRY(WriteDoublesIf(b.dw, memory, SumOfBlocks(dw, b.n)));
  return WriteDoublesIf(b.db, memory, SumOfBlocks(db, b.n));
}

void LowerForward(const LayerNormCall& f, RowLowering& rows) {
  f.UseTypes(rows);
  const DenseOperand x = rows.Read(*f.x);
  const DenseOperand rstd = rows.Write(*f.rstd);
  rows.LaunchRows("layer_norm", f.rows, static_cast<double>(f.n) * 3, x, rows.ReadOr(f.weight, x),
                  rows.ReadOr(f.bias, x), rows.Write(*f.y), rows.WriteOr(f.mean, rstd), rstd,
                  f.rows, f.n, static_cast<float>(f.eps),
                  f.Flags() | (f.centered ? kNormCentered : 0) | rows.NonTemporal(*f.y));
}

void LowerBackward(const LayerNormCall& b, RowLowering& rows) {
  b.UseTypes(rows);
  const DenseOperand g = rows.Read(*b.g);
  const DenseOperand x = rows.Read(*b.x);
  const DenseOperand w = rows.ReadOr(b.weight, x);
  const DenseOperand rstd = rows.Read(*b.rstd);
  const DenseOperand mean = rows.ReadOr(b.mean, rstd);
  const DenseOperand dw = rows.WriteOr(b.dw, x);
  const DenseOperand db = rows.WriteOr(b.db, x);
  const std::int32_t flags = b.Flags() | (b.centered ? kNormCentered : 0);
  const bool sums = b.dw != nullptr || b.db != nullptr;
  const bool at_once = rows.device().is_cpu;
  if (sums && !at_once) {
    const std::int64_t columns = rows.columns_per_group();
    rows.LaunchGroups("layer_norm_dw", (b.n + columns - 1) / columns, g, x, mean, rstd, dw, db,
                      b.rows, b.n, flags);
  }
  const double work = static_cast<double>(b.n) * 3;
  const std::int64_t groups = rows.RowGroups(b.rows, work);
  DenseOperand shares = rstd;
  if (sums && at_once) {
    shares = rows.Scratch(2 * groups * b.n * SizeOf(AccumulatorOf(b.x->dtype)));
  }
  if (b.dx != nullptr || at_once) {  // last on a GPU: dx may share the storage of g
    const std::int32_t store = b.dx != nullptr ? rows.NonTemporal(*b.dx) : 0;
    rows.LaunchRows("layer_norm_dx", b.rows, work, g, x, w, mean, rstd, rows.WriteOr(b.dx, x),
                    shares, b.rows, b.n, flags | store);
  }
  if (sums && at_once) {
    rows.LaunchItems("layer_norm_sums", b.n, shares, dw, db, groups, b.n, flags);
  }
}

std::vector<OpCall> LayerNormSamples() {
  using samples::Bool, samples::Double, samples::Ints, samples::None;
  std::vector<OpCall> calls;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16}) {
    for (const std::int64_t n : {7, 53, 1040}) {
      samples::SampleTensors t;
      // Statistics of narrow types are kept in float32.
      const DType stat = dtype == DType::kFloat64 ? dtype : DType::kFloat32;
      const TensorDesc x = t.Strided(dtype, {3, 5, n}, {5 * n + 4, n, 1}, 2);
      const TensorDesc w = t.Tensor(dtype, {n});
      const TensorDesc b = t.Tensor(dtype, {n});
      const TensorDesc y = t.Tensor(dtype, {3, 5, n});
      const TensorDesc mean = t.Tensor(stat, {3, 5, 1});
      const TensorDesc rstd = t.Tensor(stat, {3, 5, 1});
      calls.push_back({"aten::native_layer_norm",
                       {{x}, Ints({n}), {w}, {b}, Double(1e-5)},
                       {{y}, {mean}, {rstd}}});
      calls.push_back({"aten::_fused_rms_norm", {{x}, Ints({n}), {w}, None()}, {{y}, {rstd}}});
      const TensorDesc g = t.Strided(dtype, {3, 5, n}, {1, 3, 15});
      const TensorDesc dw = t.Tensor(dtype, {n});
      const TensorDesc db = t.Tensor(dtype, {n});
      const Value all{ValueList{Bool(true), Bool(true), Bool(true)}};
      const Value some{ValueList{Bool(false), Bool(true), Bool(false)}};
      calls.push_back({"aten::native_layer_norm_backward",
                       {{g}, {x}, Ints({n}), {mean}, {rstd}, {w}, {b}, all},
                       {{y}, {dw}, {db}}});
      calls.push_back({"aten::native_layer_norm_backward",
                       {{g}, {x}, Ints({n}), {mean}, {rstd}, None(), None(), some},
                       {None(), {dw}, None()}});
      calls.push_back(
          {"aten::_fused_rms_norm_backward", {{g}, {x}, Ints({n}), {rstd}, {w}, all}, {{y}, {dw}}});
    }
  }
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeLayerNorm() {
  return MakeParsedKernel(
      {"layer_norm", "layer_norm.cl", LayerNormSamples},
      CallForm<LayerNormCall>{ParseLayerForward, ReferenceForward, LowerForward, RunForward},
      CallForm<LayerNormCall>{ParseLayerBackward, ReferenceBackward, LowerBackward, RunBackward});
}

}  // namespace reprise
