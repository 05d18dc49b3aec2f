// Batch norm, native, cuDNN's and MIOpen's: kernels/ops/norms/batch_norm.cl.
#include <cmath>

#include "kernels/ops/common/host_floats.h"
#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/ops/norms/batch_norm_call.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

// body(index) for every element of a channel.
template <typename Body>
void ForChannel(const BatchNormExtents& e, std::int64_t channel, Body&& body) {
  for (std::int64_t image = 0; image < e.images; ++image) {
    for (std::int64_t i = 0; i < e.n; ++i) {
      body(static_cast<std::size_t>((image * e.channels + channel) * e.n + i));
    }
  }
}

Status ReferenceForward(const BatchNormCall& f, const HostBindings& memory) {
  const BatchNormExtents& e = f.extents;
  REPRISE_ASSIGN(const Doubles x, ReadDoubles(*f.x, memory));
  REPRISE_ASSIGN(const Doubles w, ReadDoublesOr(f.weight, memory, e.channels, 1));
  REPRISE_ASSIGN(const Doubles b, ReadDoublesOr(f.bias, memory, e.channels, 0));
  REPRISE_ASSIGN(Doubles running_mean, ReadDoublesOr(f.running_mean, memory, e.channels, 0));
  REPRISE_ASSIGN(Doubles running_var, ReadDoublesOr(f.running_var, memory, e.channels, 1));
  Doubles y(x.size());
  Doubles save_mean;
  Doubles save_rstd;
  const auto count = static_cast<double>(e.images * e.n);
  for (std::int64_t channel = 0; channel < e.channels; ++channel) {
    const auto c = static_cast<std::size_t>(channel);
    double mean = running_mean[c];
    double var = running_var[c];
    if (f.training) {
      mean = 0;
      ForChannel(e, channel, [&](std::size_t i) { mean += x[i] / count; });
      double square = 0;
      ForChannel(e, channel, [&](std::size_t i) { square += (x[i] - mean) * (x[i] - mean); });
      var = square / count;
      running_mean[c] = (1 - f.momentum) * running_mean[c] + f.momentum * mean;
      running_var[c] = (1 - f.momentum) * running_var[c] + f.momentum * square / (count - 1);
    }
    const double rstd = 1 / std::sqrt(var + f.eps);
    ForChannel(e, channel, [&](std::size_t i) { y[i] = (x[i] - mean) * rstd * w[c] + b[c]; });
    save_mean.push_back(mean);
    save_rstd.push_back(rstd);
  }
  if (f.training) {
    REPRISE_TRY(WriteDoubles(*f.mean, memory, save_mean));
    REPRISE_TRY(WriteDoubles(*f.rstd, memory, save_rstd));
    REPRISE_TRY(WriteDoublesIf(f.running_mean, memory, running_mean));
    REPRISE_TRY(WriteDoublesIf(f.running_var, memory, running_var));
  }
  return WriteDoubles(*f.y, memory, y);
}

// With h = (x - mean) rstd and m(.) the mean over a channel: training dx = w rstd (g - m(g) -
// h m(g h)), evaluation dx = w rstd g.
Status ReferenceBackward(const BatchNormCall& b, const HostBindings& memory) {
  const BatchNormExtents& e = b.extents;
  REPRISE_ASSIGN(const Doubles g, ReadDoubles(*b.g, memory));
  REPRISE_ASSIGN(const Doubles x, ReadDoubles(*b.x, memory));
  REPRISE_ASSIGN(const Doubles w, ReadDoublesOr(b.weight, memory, e.channels, 1));
  REPRISE_ASSIGN(const Doubles mean, ReadDoubles(*b.mean, memory));
  REPRISE_ASSIGN(const Doubles spread, ReadDoubles(*b.rstd, memory));
  Doubles dx(x.size());
  Doubles dw;
  Doubles db;
  const auto count = static_cast<double>(e.images * e.n);
  for (std::int64_t channel = 0; channel < e.channels; ++channel) {
    const auto c = static_cast<std::size_t>(channel);
    const double rstd = b.training ? spread[c] : 1 / std::sqrt(spread[c] + b.eps);
    const auto h = [&](std::size_t i) { return (x[i] - mean[c]) * rstd; };
    double sum_g = 0;
    double sum_gh = 0;
    ForChannel(e, channel, [&](std::size_t i) {
      sum_g += g[i];
      sum_gh += g[i] * h(i);
    });
    ForChannel(e, channel, [&](std::size_t i) {
      const double d = b.training ? g[i] - sum_g / count - h(i) * sum_gh / count : g[i];
      dx[i] = w[c] * rstd * d;
    });
    dw.push_back(sum_gh);
    db.push_back(sum_g);
  }
  REPRISE_TRY(WriteDoublesIf(b.dx, memory, dx));
  REPRISE_TRY(WriteDoublesIf(b.dw, memory, dw));
  return WriteDoublesIf(b.db, memory, db);
}

void LowerForward(const BatchNormCall& f, RowLowering& rows) {
  const BatchNormExtents& e = f.extents;
  f.UseTypes(rows);
  const DenseOperand x = rows.Read(*f.x);
  const std::int32_t flags = f.Flags() | (f.training ? kNormTraining : 0) |
                             (f.running_mean != nullptr ? kNormHasRunning : 0) |
                             rows.NonTemporal(*f.y);
  rows.LaunchRows("batch_norm", e.channels, static_cast<double>(e.images * e.n) * 3, x,
                  rows.ReadOr(f.weight, x), rows.ReadOr(f.bias, x),
                  rows.UpdateOr(f.running_mean, x), rows.UpdateOr(f.running_var, x),
                  rows.Write(*f.y), rows.WriteOr(f.training ? f.mean : nullptr, x),
                  rows.WriteOr(f.training ? f.rstd : nullptr, x), e.images, e.channels, e.n,
                  static_cast<float>(f.momentum), static_cast<float>(f.eps), flags,
                  rows.LanesFor(e.n));
}

void LowerBackward(const BatchNormCall& b, RowLowering& rows) {
  const BatchNormExtents& e = b.extents;
  b.UseTypes(rows);
  const DenseOperand x = rows.Read(*b.x);
  const std::int32_t flags = b.Flags() | (b.training ? kNormTraining : kNormHasRunning) |
                             (b.dx != nullptr ? rows.NonTemporal(*b.dx) : 0);
  rows.LaunchRows("batch_norm_backward", e.channels, static_cast<double>(e.images * e.n) * 4,
                  rows.Read(*b.g), x, rows.ReadOr(b.weight, x), rows.Read(*b.mean),
                  rows.Read(*b.rstd), rows.WriteOr(b.dx, x), rows.WriteOr(b.dw, x),
                  rows.WriteOr(b.db, x), e.images, e.channels, e.n, static_cast<float>(b.eps),
                  flags, rows.LanesFor(e.n));
}

Status ReferenceBatchNorm(const BatchNormCall& p, const HostBindings& memory) {
  return p.g != nullptr ? ReferenceBackward(p, memory) : ReferenceForward(p, memory);
}

Status RunBatchNormOnHost(const BatchNormCall& p, const HostBindings& memory) {
  if (!AreFloats({p.x})) {
    return ReferenceBatchNorm(p, memory);
  }
  return p.g != nullptr ? RunBatchNormBackward(p, memory) : RunBatchNormForward(p, memory);
}

void LowerBatchNorm(const BatchNormCall& p, RowLowering& rows) {
  return p.g != nullptr ? LowerBackward(p, rows) : LowerForward(p, rows);
}

std::vector<OpCall> BatchNormSamples() {
  using samples::Bool, samples::Double, samples::None;
  std::vector<OpCall> calls;
  const auto add = [&calls](DType dtype, const Dims& shape, const Dims& strides) {
    samples::SampleTensors t;
    const DType stat = dtype == DType::kFloat64 ? dtype : DType::kFloat32;
    const Value x{t.Strided(dtype, shape, strides, 3)};
    const Value g{t.Tensor(dtype, shape)};
    const Value y{t.Strided(dtype, shape, strides)};
    const auto channels = [&] { return Value{t.Tensor(stat, {shape[1]})}; };
    const Value weight = channels(), bias = channels(), var = channels(), save_mean = channels(),
                save_rstd = channels(), dw = channels(), db = channels();
    const Value mean{t.Strided(stat, {shape[1]}, {2})};
    const Value empty{t.Tensor(DType::kUInt8, {0})};
    const Value none = None(), yes = Bool(true), no = Bool(false), eps = Double(1e-5);
    const Value momentum = Double(0.1), wide = Double(2.5);
    for (const char* name :
         {"aten::native_batch_norm", "aten::cudnn_batch_norm", "aten::miopen_batch_norm"}) {
      calls.push_back({name,
                       {x, weight, bias, mean, var, yes, momentum, eps},
                       {y, save_mean, save_rstd, empty}});
    }
    calls.push_back({"aten::native_batch_norm",
                     {x, none, none, none, none, yes, momentum, eps},
                     {y, save_mean, save_rstd}});
    calls.push_back({"aten::native_batch_norm",
                     {x, weight, bias, mean, var, no, momentum, wide},
                     {y, empty, empty}});
    calls.push_back(
        {"aten::native_batch_norm_backward",
         {g, x, weight, mean, var, save_mean, save_rstd, yes, eps, Value{ValueList{yes, yes, yes}}},
         {y, dw, db}});
    calls.push_back(
        {"aten::native_batch_norm_backward",
         {g, x, weight, mean, var, none, none, no, wide, Value{ValueList{yes, no, yes}}},
         {y, none, db}});
    for (const char* name :
         {"aten::cudnn_batch_norm_backward", "aten::miopen_batch_norm_backward"}) {
      calls.push_back(
          {name, {x, g, weight, mean, var, save_mean, save_rstd, eps, empty}, {y, dw, db}});
    }
  };
  add(DType::kFloat32, {3, 5, 7, 3}, {105, 21, 3, 1});
  add(DType::kFloat32, {3, 5, 2, 2}, {20, 1, 10, 5});
  add(DType::kFloat32, {9, 5}, {5, 1});
  add(DType::kFloat64, {2, 3, 17}, {51, 17, 1});
  add(DType::kBFloat16, {2, 3, 17}, {51, 17, 1});
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeBatchNorm() {
  return MakeParsedKernel({"batch_norm", "batch_norm.cl", BatchNormSamples},
                          CallForm<BatchNormCall>{ParseBatchNorm, ReferenceBatchNorm,
                                                  LowerBatchNorm, RunBatchNormOnHost});
}

}  // namespace reprise
