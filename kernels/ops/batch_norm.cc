// Batch norm, native, cuDNN's and MIOpen's: kernels/ops/norm.cl.
#include <array>
#include <cmath>
#include <optional>

#include "kernels/ops/host_floats.h"
#include "kernels/ops/host_loops.h"
#include "kernels/ops/host_values.h"
#include "kernels/ops/norm.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

// Operations per element: mean 1, variance 3, scale and shift 4; backward: two sums 4, dx 6.
constexpr double kForwardFlops = 8;
constexpr double kBackwardFlops = 10;

// (images, channels, positions).
struct Extents {
  std::int64_t images = 0, channels = 0, n = 0;
};
struct Forward {
  NormOperands op;  // mean and rstd are the saved ones, absent in evaluation
  const TensorDesc* running_mean = nullptr;
  const TensorDesc* running_var = nullptr;
  const TensorDesc* y = nullptr;
  Extents extents;
  bool training = false;
  double momentum = 0;
  double eps = 0;
};
struct Backward {
  NormOperands op;  // rstd holds the running variance in evaluation
  const TensorDesc* g = nullptr;
  const TensorDesc* dx = nullptr;
  const TensorDesc* dw = nullptr;
  const TensorDesc* db = nullptr;
  Extents extents;
  bool training = false;
  double eps = 0;
};

std::optional<Extents> ExtentsOf(const TensorDesc& x) {
  if (x.shape.size() < 2 || Count(x) == 0) {
    return std::nullopt;
  }
  return Extents{x.shape[0], x.shape[1], Count(x) / x.shape[0] / x.shape[1]};
}

bool ArePerChannel(const std::vector<const TensorDesc*>& tensors, std::int64_t channels) {
  for (const TensorDesc* tensor : tensors) {
    if (tensor != nullptr && Count(*tensor) != channels) {
      return false;
    }
  }
  return true;
}

// aten::native_batch_norm(input, weight?, bias?, running_mean?, running_var?, training, momentum,
// eps) -> (y, save_mean, save_invstd); the libraries' have the same order.
std::optional<Forward> ParseForward(const OpCall& call) {
  Forward f;
  f.training = TruthOr(Argument(call, 5), false);
  f.op.x = call.InputTensor(0);
  f.op.weight = call.InputTensor(1);
  f.op.bias = call.InputTensor(2);
  f.running_mean = call.InputTensor(3);
  f.running_var = call.InputTensor(4);
  f.momentum = NumberOr(Argument(call, 6), 0);
  f.eps = NumberOr(Argument(call, 7), 0);
  f.y = call.OutputTensor(0);
  f.op.mean = f.training ? call.OutputTensor(1) : f.running_mean;
  f.op.rstd = f.training ? call.OutputTensor(2) : f.running_var;
  if (f.y == nullptr || f.op.mean == nullptr || !f.op.TypesFit() || f.y->dtype != f.op.x->dtype ||
      (f.running_mean == nullptr) != (f.running_var == nullptr)) {
    return std::nullopt;
  }
  if (f.running_mean != nullptr &&
      (f.running_mean->dtype != f.op.mean->dtype || f.running_var->dtype != f.op.mean->dtype)) {
    return std::nullopt;
  }
  const std::optional<Extents> extents = ExtentsOf(*f.op.x);
  if (!extents || f.y->shape != f.op.x->shape ||
      !ArePerChannel({f.op.weight, f.op.bias, f.op.mean, f.op.rstd, f.running_mean, f.running_var},
                     extents->channels)) {
    return std::nullopt;
  }
  f.extents = *extents;
  return f;
}

// aten::native_batch_norm_backward(grad, input, weight?, running_mean?, running_var?, save_mean?,
// save_invstd?, train, eps, mask[3]); the libraries' take (input, grad, …, eps) and always train.
std::optional<Backward> ParseBackward(const OpCall& call) {
  const bool native = call.name == "aten::native_batch_norm_backward";
  const Value& mask = Argument(call, 9);
  Backward b;
  b.training = !native || TruthOr(Argument(call, 7), false);
  b.g = call.InputTensor(native ? 0 : 1);
  b.op.x = call.InputTensor(native ? 1 : 0);
  b.op.weight = call.InputTensor(2);
  b.op.mean = call.InputTensor(b.training ? 5 : 3);
  b.op.rstd = call.InputTensor(b.training ? 6 : 4);
  b.eps = NumberOr(Argument(call, native ? 8 : 7), 0);
  b.dx = !native || MaskAt(mask, 0) ? call.OutputTensor(0) : nullptr;
  b.dw = !native || MaskAt(mask, 1) ? call.OutputTensor(1) : nullptr;
  b.db = !native || MaskAt(mask, 2) ? call.OutputTensor(2) : nullptr;
  if (b.g == nullptr || b.op.mean == nullptr || !b.op.TypesFit() || b.g->dtype != b.op.x->dtype ||
      b.g->shape != b.op.x->shape || !b.op.GradientsFit(b.dx, b.dw, b.db)) {
    return std::nullopt;
  }
  const std::optional<Extents> extents = ExtentsOf(*b.op.x);
  if (!extents ||
      !ArePerChannel({b.op.weight, b.op.mean, b.op.rstd, b.dw, b.db}, extents->channels)) {
    return std::nullopt;
  }
  b.extents = *extents;
  return b;
}

class BatchNorm final : public Kernel {
 public:
  [[nodiscard]] std::string_view name() const override { return "batch_norm"; }
  [[nodiscard]] std::span<const std::string_view> operators() const override {
    static constexpr std::array<std::string_view, 6> kOperators = {
        "aten::native_batch_norm",         "aten::cudnn_batch_norm",
        "aten::miopen_batch_norm",         "aten::native_batch_norm_backward",
        "aten::cudnn_batch_norm_backward", "aten::miopen_batch_norm_backward"};
    return kOperators;
  }
  [[nodiscard]] bool Supports(const OpCall& call) const override {
    return IsBackward(call) ? ParseBackward(call).has_value() : ParseForward(call).has_value();
  }
  [[nodiscard]] Cost CostOf(const OpCall& call) const override {
    const TensorDesc* x = call.InputTensor(0);
    const double elements = x == nullptr ? 0 : static_cast<double>(Count(*x));
    return {elements * (IsBackward(call) ? kBackwardFlops : kForwardFlops), OperandBytes(call)};
  }
  [[nodiscard]] Status Reference(const OpCall& call, const HostBindings& memory) const override {
    return IsBackward(call) ? ReferenceBackward(*ParseBackward(call), memory)
                            : ReferenceForward(*ParseForward(call), memory);
  }
  [[nodiscard]] Status RunOnHost(const OpCall& call, const HostBindings& memory) const override {
    if (IsBackward(call)) {
      const Backward b = *ParseBackward(call);
      return AreFloats({b.op.x}) ? RunBackward(b, memory) : ReferenceBackward(b, memory);
    }
    const Forward f = *ParseForward(call);
    return AreFloats({f.op.x}) ? RunForward(f, memory) : ReferenceForward(f, memory);
  }
  [[nodiscard]] Result<std::vector<Launch>> LowerToDevice(
      const OpCall& call, const LowerContext& context) const override {
    return IsBackward(call) ? LowerBackward(*ParseBackward(call), context)
                            : LowerForward(*ParseForward(call), context);
  }
  [[nodiscard]] std::vector<OpCall> Samples() const override;

 private:
  static bool IsBackward(const OpCall& call) { return call.name.ends_with("_backward"); }
  static Status ReferenceForward(const Forward& f, const HostBindings& memory);
  static Status ReferenceBackward(const Backward& b, const HostBindings& memory);
  static Status RunForward(const Forward& f, const HostBindings& memory);
  static Status RunBackward(const Backward& b, const HostBindings& memory);
  static Result<std::vector<Launch>> LowerForward(const Forward& f, const LowerContext& context);
  static Result<std::vector<Launch>> LowerBackward(const Backward& b, const LowerContext& context);
};

// body(index) for every element of a channel.
template <typename Body>
void ForChannel(const Extents& e, std::int64_t channel, Body&& body) {
  for (std::int64_t image = 0; image < e.images; ++image) {
    for (std::int64_t i = 0; i < e.n; ++i) {
      body(static_cast<std::size_t>((image * e.channels + channel) * e.n + i));
    }
  }
}

Status BatchNorm::ReferenceForward(const Forward& f, const HostBindings& memory) {
  const Extents& e = f.extents;
  REPRISE_ASSIGN(const Doubles x, ReadDoubles(*f.op.x, memory));
  REPRISE_ASSIGN(const Doubles w, ReadDoublesOr(f.op.weight, memory, e.channels, 1));
  REPRISE_ASSIGN(const Doubles b, ReadDoublesOr(f.op.bias, memory, e.channels, 0));
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
    REPRISE_TRY(WriteDoubles(*f.op.mean, memory, save_mean));
    REPRISE_TRY(WriteDoubles(*f.op.rstd, memory, save_rstd));
    REPRISE_TRY(WriteDoublesIf(f.running_mean, memory, running_mean));
    REPRISE_TRY(WriteDoublesIf(f.running_var, memory, running_var));
  }
  return WriteDoubles(*f.y, memory, y);
}

// With h = (x - mean) rstd and m(.) the mean over a channel: training dx = w rstd (g - m(g) -
// h m(g h)), evaluation dx = w rstd g.
Status BatchNorm::ReferenceBackward(const Backward& b, const HostBindings& memory) {
  const Extents& e = b.extents;
  REPRISE_ASSIGN(const Doubles g, ReadDoubles(*b.g, memory));
  REPRISE_ASSIGN(const Doubles x, ReadDoubles(*b.op.x, memory));
  REPRISE_ASSIGN(const Doubles w, ReadDoublesOr(b.op.weight, memory, e.channels, 1));
  REPRISE_ASSIGN(const Doubles mean, ReadDoubles(*b.op.mean, memory));
  REPRISE_ASSIGN(const Doubles spread, ReadDoubles(*b.op.rstd, memory));
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

// body(first element) for the run of each image in a channel.
template <typename Body>
void ForRuns(const Extents& e, std::int64_t channel, Body&& body) {
  for (std::int64_t image = 0; image < e.images; ++image) {
    body((image * e.channels + channel) * e.n);
  }
}

Status BatchNorm::RunForward(const Forward& f, const HostBindings& memory) {
  const Extents& e = f.extents;
  REPRISE_ASSIGN(const FloatsIn x, FloatsIn::Read(*f.op.x, memory));
  REPRISE_ASSIGN(const FloatsIn w, FloatsIn::ReadOr(f.op.weight, memory, e.channels, 1));
  REPRISE_ASSIGN(const FloatsIn b, FloatsIn::ReadOr(f.op.bias, memory, e.channels, 0));
  REPRISE_ASSIGN(Doubles running_mean, ReadDoublesOr(f.running_mean, memory, e.channels, 0));
  REPRISE_ASSIGN(Doubles running_var, ReadDoublesOr(f.running_var, memory, e.channels, 1));
  REPRISE_ASSIGN(FloatsOut y, FloatsOut::Write(*f.y, memory));
  Doubles save_mean;
  Doubles save_rstd;
  const auto count = static_cast<double>(e.images * e.n);
  for (std::int64_t channel = 0; channel < e.channels; ++channel) {
    double& mean = running_mean[static_cast<std::size_t>(channel)];
    double& var = running_var[static_cast<std::size_t>(channel)];
    double center = mean;
    double spread = var;
    if (f.training) {
      double sum = 0;
      ForRuns(e, channel, [&](std::int64_t at) { sum += loops::Sum(x.data() + at, e.n); });
      center = sum / count;
      double square = 0;
      ForRuns(e, channel, [&](std::int64_t at) {
        square += loops::SumSquares(x.data() + at, static_cast<float>(center), e.n);
      });
      spread = square / count;
      mean = (1 - f.momentum) * mean + f.momentum * center;
      var = (1 - f.momentum) * var + f.momentum * square / (count - 1);
    }
    const double rstd = 1 / std::sqrt(spread + f.eps);
    const double scale = rstd * static_cast<double>(w[channel]);
    ForRuns(e, channel, [&](std::int64_t at) {
      loops::ScaleShift(x.data() + at, static_cast<float>(scale),
                        static_cast<float>(static_cast<double>(b[channel]) - center * scale),
                        y.data() + at, e.n);
    });
    save_mean.push_back(center);
    save_rstd.push_back(rstd);
  }
  if (f.training) {
    REPRISE_TRY(WriteDoubles(*f.op.mean, memory, save_mean));
    REPRISE_TRY(WriteDoubles(*f.op.rstd, memory, save_rstd));
    REPRISE_TRY(WriteDoublesIf(f.running_mean, memory, running_mean));
    REPRISE_TRY(WriteDoublesIf(f.running_var, memory, running_var));
  }
  return y.Store(memory);
}

Status BatchNorm::RunBackward(const Backward& b, const HostBindings& memory) {
  const Extents& e = b.extents;
  REPRISE_ASSIGN(const FloatsIn g, FloatsIn::Read(*b.g, memory));
  REPRISE_ASSIGN(const FloatsIn x, FloatsIn::Read(*b.op.x, memory));
  REPRISE_ASSIGN(const FloatsIn w, FloatsIn::ReadOr(b.op.weight, memory, e.channels, 1));
  REPRISE_ASSIGN(const FloatsIn mean, FloatsIn::Read(*b.op.mean, memory));
  REPRISE_ASSIGN(const Doubles spread, ReadDoubles(*b.op.rstd, memory));
  FloatsOut dx;
  if (b.dx != nullptr) {
    REPRISE_ASSIGN(dx, FloatsOut::Write(*b.dx, memory));
  }
  Doubles dw;
  Doubles db;
  const auto count = static_cast<double>(e.images * e.n);
  for (std::int64_t channel = 0; channel < e.channels; ++channel) {
    const double given = spread[static_cast<std::size_t>(channel)];
    const double rstd = b.training ? given : 1 / std::sqrt(given + b.eps);
    double sum_g = 0;
    double sum_gh = 0;
    ForRuns(e, channel, [&](std::int64_t at) {
      sum_g += loops::Sum(g.data() + at, e.n);
      sum_gh += rstd * loops::SumProducts(g.data() + at, x.data() + at, mean[channel], e.n);
    });
    dw.push_back(sum_gh);
    db.push_back(sum_g);
    if (b.dx == nullptr) {
      continue;
    }
    const double mean_g = b.training ? sum_g / count : 0;
    const double slope = b.training ? rstd * sum_gh / count : 0;
    ForRuns(e, channel, [&](std::int64_t at) {
      loops::ChannelGradient(g.data() + at, x.data() + at,
                             static_cast<float>(rstd * static_cast<double>(w[channel])),
                             static_cast<float>(mean_g), mean[channel], static_cast<float>(slope),
                             dx.data() + at, e.n);
    });
  }
  REPRISE_TRY(dx.Store(memory));
  REPRISE_TRY(WriteDoublesIf(b.dw, memory, dw));
  return WriteDoublesIf(b.db, memory, db);
}

Result<std::vector<Launch>> BatchNorm::LowerForward(const Forward& f, const LowerContext& context) {
  const Extents& e = f.extents;
  RowLowering rows(context, "norm.cl");
  REPRISE_TRY(f.op.UseTypes(rows));
  REPRISE_ASSIGN(const DenseOperand x, rows.Read(*f.op.x));
  REPRISE_ASSIGN(const DenseOperand w, rows.ReadOr(f.op.weight, x));
  REPRISE_ASSIGN(const DenseOperand b, rows.ReadOr(f.op.bias, x));
  REPRISE_ASSIGN(const DenseOperand y, rows.Write(*f.y));
  DenseOperand running_mean = x;
  DenseOperand running_var = x;
  if (f.running_mean != nullptr) {
    REPRISE_ASSIGN(running_mean, rows.Update(*f.running_mean));
    REPRISE_ASSIGN(running_var, rows.Update(*f.running_var));
  }
  REPRISE_ASSIGN(const DenseOperand mean, rows.WriteOr(f.training ? f.op.mean : nullptr, x));
  REPRISE_ASSIGN(const DenseOperand rstd, rows.WriteOr(f.training ? f.op.rstd : nullptr, x));
  const std::int32_t flags = f.op.Flags() | (f.training ? kNormTraining : 0) |
                             (f.running_mean != nullptr ? kNormHasRunning : 0);
  rows.LaunchRows("batch_norm", e.channels, static_cast<double>(e.images * e.n) * 3, x, w, b,
                  running_mean, running_var, y, mean, rstd, e.images, e.channels, e.n,
                  static_cast<float>(f.momentum), static_cast<float>(f.eps), flags,
                  rows.LanesFor(e.n));
  return std::move(rows).Take();
}

Result<std::vector<Launch>> BatchNorm::LowerBackward(const Backward& b,
                                                     const LowerContext& context) {
  const Extents& e = b.extents;
  RowLowering rows(context, "norm.cl");
  REPRISE_TRY(b.op.UseTypes(rows));
  REPRISE_ASSIGN(const DenseOperand g, rows.Read(*b.g));
  REPRISE_ASSIGN(const DenseOperand x, rows.Read(*b.op.x));
  REPRISE_ASSIGN(const DenseOperand w, rows.ReadOr(b.op.weight, x));
  REPRISE_ASSIGN(const DenseOperand mean, rows.Read(*b.op.mean));
  REPRISE_ASSIGN(const DenseOperand spread, rows.Read(*b.op.rstd));
  REPRISE_ASSIGN(const DenseOperand dx, rows.WriteOr(b.dx, x));
  REPRISE_ASSIGN(const DenseOperand dw, rows.WriteOr(b.dw, x));
  REPRISE_ASSIGN(const DenseOperand db, rows.WriteOr(b.db, x));
  const std::int32_t flags = b.op.Flags() | (b.training ? kNormTraining : kNormHasRunning) |
                             (b.dx != nullptr ? kNormWantInput : 0) |
                             (b.dw != nullptr ? kNormWantWeight : 0) |
                             (b.db != nullptr ? kNormWantBias : 0);
  rows.LaunchRows("batch_norm_backward", e.channels, static_cast<double>(e.images * e.n) * 4, g, x,
                  w, mean, spread, dx, dw, db, e.images, e.channels, e.n, static_cast<float>(b.eps),
                  flags, rows.LanesFor(e.n));
  return std::move(rows).Take();
}

std::vector<OpCall> BatchNorm::Samples() const {
  using samples::Bool;
  using samples::Double;
  using samples::None;
  std::vector<OpCall> calls;
  const auto add = [&calls](DType dtype, const Dims& shape, const Dims& strides) {
    samples::SampleTensors t;
    const DType stat = dtype == DType::kFloat64 ? dtype : DType::kFloat32;
    const TensorDesc x = t.Strided(dtype, shape, strides, 3);
    const TensorDesc g = t.Tensor(dtype, shape);
    const TensorDesc y = t.Strided(dtype, shape, strides);
    const TensorDesc wide = t.Tensor(stat, {shape[1]});
    const TensorDesc bias = t.Tensor(stat, {shape[1]});
    const TensorDesc running_mean = t.Strided(stat, {shape[1]}, {2});
    const TensorDesc running_var = t.Tensor(stat, {shape[1]});
    const TensorDesc mean = t.Tensor(stat, {shape[1]});
    const TensorDesc rstd = t.Tensor(stat, {shape[1]});
    const TensorDesc dw = t.Tensor(stat, {shape[1]});
    const TensorDesc db = t.Tensor(stat, {shape[1]});
    const TensorDesc none = t.Tensor(DType::kUInt8, {0});
    const Value all{ValueList{Bool(true), Bool(true), Bool(true)}};
    const Value some{ValueList{Bool(true), Bool(false), Bool(true)}};
    for (const char* name :
         {"aten::native_batch_norm", "aten::cudnn_batch_norm", "aten::miopen_batch_norm"}) {
      calls.push_back({name,
                       {{x},
                        {wide},
                        {bias},
                        {running_mean},
                        {running_var},
                        Bool(true),
                        Double(0.1),
                        Double(1e-5)},
                       {{y}, {mean}, {rstd}, {none}}});
    }
    calls.push_back({"aten::native_batch_norm",
                     {{x}, None(), None(), None(), None(), Bool(true), Double(0.1), Double(1e-5)},
                     {{y}, {mean}, {rstd}}});
    calls.push_back({"aten::native_batch_norm",
                     {{x},
                      {wide},
                      {bias},
                      {running_mean},
                      {running_var},
                      Bool(false),
                      Double(0.1),
                      Double(2.5)},
                     {{y}, {none}, {none}}});
    calls.push_back({"aten::native_batch_norm_backward",
                     {{g},
                      {x},
                      {wide},
                      {running_mean},
                      {running_var},
                      {mean},
                      {rstd},
                      Bool(true),
                      Double(1e-5),
                      all},
                     {{y}, {dw}, {db}}});
    calls.push_back({"aten::native_batch_norm_backward",
                     {{g},
                      {x},
                      {wide},
                      {running_mean},
                      {running_var},
                      None(),
                      None(),
                      Bool(false),
                      Double(2.5),
                      some},
                     {{y}, None(), {db}}});
    for (const char* name :
         {"aten::cudnn_batch_norm_backward", "aten::miopen_batch_norm_backward"}) {
      calls.push_back(
          {name,
           {{x}, {g}, {wide}, {running_mean}, {running_var}, {mean}, {rstd}, Double(1e-5), {none}},
           {{y}, {dw}, {db}}});
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

std::unique_ptr<Kernel> MakeBatchNorm() { return std::make_unique<BatchNorm>(); }

}  // namespace reprise
