// Losses that compare prediction and target element by element: kernels/ops/losses/loss.cl.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "core/operator_arguments.h"
#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/ops/losses/loss_reduction.h"
#include "kernels/ops/reductions/reduction_plan.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

// Values as in loss.cl.
enum class LossKind : std::int32_t {
  kMse = 0,
  kL1 = 1,
  kSmoothL1 = 2,
  kHuber = 3,
  kCrossEntropy = 4,
  kCrossEntropyLogits = 5,
};
// What the operators' rows call them, as LossKind numbers them.
constexpr std::array<std::string_view, 6> kLosses = {
    "mse", "l1", "smooth_l1", "huber", "binary_cross_entropy", "binary_cross_entropy_with_logits"};

struct PointwiseLossCall {
  LossKind kind = LossKind::kMse;
  bool backward = false;
  std::int64_t reduction = kReduceMean;
  double parameter = 1;
  TensorDesc x, t;  // broadcast against each other
  std::optional<TensorDesc> weight, positive;
  const TensorDesc* g = nullptr;
  const TensorDesc* y = nullptr;  // the loss, or the gradient of x
  [[nodiscard]] std::int64_t n() const { return Count(x); }
};

std::optional<TensorDesc> ExpandedTo(const TensorDesc* tensor, const TensorDesc& x) {
  return tensor == nullptr || tensor->dtype != x.dtype ? std::nullopt : Expanded(*tensor, x.shape);
}

std::optional<PointwiseLossCall> ParsePointwiseLoss(const OpCall& call) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  PointwiseLossCall p;
  p.backward = places.Has("grad");
  const auto* loss = std::find(kLosses.begin(), kLosses.end(), places.Word("loss"));
  const TensorDesc* x = places.Tensor(call, "x");
  const TensorDesc* t = places.Tensor(call, "target");
  p.y = call.OutputTensor(0);
  p.g = places.Tensor(call, "grad");
  if (loss == kLosses.end() || x == nullptr || t == nullptr || p.y == nullptr ||
      !IsFloatKernelType(x->dtype) || t->dtype != x->dtype || p.y->dtype != x->dtype ||
      (p.backward && (p.g == nullptr || p.g->dtype != x->dtype))) {
    return std::nullopt;
  }
  const std::optional<Dims> shape = BroadcastShape({x, t});
  if (!shape) {
    return std::nullopt;
  }
  p.kind = static_cast<LossKind>(loss - kLosses.begin());
  p.x = *Expanded(*x, *shape);
  p.t = *Expanded(*t, *shape);
  const TensorDesc* weight = places.Tensor(call, "weight");
  const TensorDesc* positive = places.Tensor(call, "positive");
  p.weight = ExpandedTo(weight, p.x);
  p.positive = ExpandedTo(positive, p.x);
  if ((weight != nullptr && !p.weight) || (positive != nullptr && !p.positive)) {
    return std::nullopt;
  }
  p.reduction = static_cast<std::int64_t>(places.Number(call, "reduction", kReduceMean));
  p.parameter = places.Number(call, "parameter", 1);
  const std::int64_t losses = p.reduction == kReduceNone ? p.n() : 1;
  const bool fits = p.backward
                        ? p.y->shape == p.x.shape && (Count(*p.g) == 1 || Count(*p.g) == p.n())
                        : Count(*p.y) == losses;
  return fits ? std::optional(p) : std::nullopt;
}

// Softplus without overflow.
double LogOnePlusExp(double v) { return std::log1p(std::exp(-std::fabs(v))) + std::max(v, 0.0); }

double LossOf(const PointwiseLossCall& p, double x, double t, double positive) {
  const double d = std::fabs(x - t);
  switch (p.kind) {
    case LossKind::kMse:
      return d * d;
    case LossKind::kL1:
      return d;
    case LossKind::kSmoothL1:
      return d < p.parameter ? d * d / 2 / p.parameter : d - p.parameter / 2;
    case LossKind::kHuber:
      return d <= p.parameter ? d * d / 2 : p.parameter * (d - p.parameter / 2);
    case LossKind::kCrossEntropy:  // PyTorch clamps the logarithms at -100
      return -t * std::fmax(std::log(x), -100) - (1 - t) * std::fmax(std::log(1 - x), -100);
    case LossKind::kCrossEntropyLogits:
      return (1 - t) * x + (1 + (positive - 1) * t) * LogOnePlusExp(-x);
  }
  return 0;
}

double SlopeOf(const PointwiseLossCall& p, double x, double t) {
  const double d = x - t;
  switch (p.kind) {
    case LossKind::kMse:
      return 2 * d;
    case LossKind::kSmoothL1:
      return std::fabs(d) < p.parameter ? d / p.parameter : (d > 0) - (d < 0);
    case LossKind::kHuber:
      return std::clamp(d, -p.parameter, p.parameter);
    default:
      return d / std::fmax((1 - x) * x, 1e-12);
  }
}

Status ReferencePointwiseLoss(const PointwiseLossCall& p, const HostBindings& memory) {
  REPRISE_ASSIGN(const Doubles x, ReadDoubles(p.x, memory));
  REPRISE_ASSIGN(const Doubles t, ReadDoubles(p.t, memory));
  REPRISE_ASSIGN(const Doubles w, ReadDoublesOr(p.weight ? &*p.weight : nullptr, memory, p.n(), 1));
  REPRISE_ASSIGN(const Doubles positive,
                 ReadDoublesOr(p.positive ? &*p.positive : nullptr, memory, p.n(), 1));
  REPRISE_ASSIGN(const Doubles g, ReadDoublesOr(p.g, memory, p.n(), 0));
  const auto count = static_cast<double>(p.n());
  Doubles y;
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (p.backward) {
      y.push_back(SlopeOf(p, x[i], t[i]) * w[i] * g[g.size() == 1 ? 0 : i] /
                  (p.reduction == kReduceMean ? count : 1));
    } else {
      y.push_back(LossOf(p, x[i], t[i], positive[i]) * w[i]);
      sum += y.back();
    }
  }
  if (!p.backward && p.reduction != kReduceNone) {
    y = {p.reduction == kReduceMean ? sum / count : sum};
  }
  return WriteDoubles(*p.y, memory, y);
}

void LowerPointwiseLoss(const PointwiseLossCall& p, RowLowering& rows) {
  const DType accumulator = AccumulatorOf(p.x.dtype);
  rows.UseTypes({{"X", p.x.dtype}, {"I", DType::kInt64}}, accumulator);
  const DenseOperand x = rows.Read(p.x);
  const DenseOperand t = rows.Read(p.t);
  const DenseOperand w = rows.ReadOr(p.weight ? &*p.weight : nullptr, x);
  const DenseOperand positive = rows.ReadOr(p.positive ? &*p.positive : nullptr, x);
  const DenseOperand y = rows.Write(*p.y);
  const auto kind = static_cast<std::int32_t>(p.kind);
  const auto parameter = static_cast<float>(p.parameter);
  const bool weighted = p.weight.has_value();
  const bool has_positive = p.positive.has_value();
  if (p.backward) {
    const std::int32_t g_step = Count(*p.g) == 1 ? 0 : 1;
    const std::int64_t count = p.reduction == kReduceMean ? p.n() : 1;
    rows.LaunchItems("loss_backward", p.n(), rows.Read(*p.g), g_step, x, t, w, y, p.n(), count,
                     kind, parameter, weighted);
    return;
  }
  if (p.reduction == kReduceNone) {
    rows.LaunchItems("loss_each", p.n(), x, t, w, positive, y, p.n(), kind, parameter, weighted,
                     has_positive);
    return;
  }
  const std::int64_t groups = rows.device().is_cpu ? std::max(1, rows.device().compute_units) : 64;
  const DenseOperand sums = rows.Scratch(groups * SizeOf(accumulator));
  rows.LaunchGroups("loss_sums", groups, x, t, w, positive, sums, p.n(), kind, parameter, weighted,
                    has_positive);
  ReductionJob job;
  job.x = sums;
  job.x_type = accumulator;
  job.shape.n = groups;
  job.y = y;
  job.y_type = p.y->dtype;
  job.accumulator = accumulator;
  job.mean_of = p.n();
  if (p.reduction == kReduceMean) {
    job.steps.finish = ReductionFinish::kMean;
  }
  AppendReduction(rows, job);
}

std::vector<OpCall> PointwiseLossSamples() {
  using samples::Double, samples::Int;
  std::vector<OpCall> calls;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    samples::SampleTensors t;
    const TensorDesc x = t.Strided(dtype, {7, 13}, {20, 1}, 2);
    const TensorDesc target = t.Tensor(dtype, {7, 13});
    const TensorDesc row = t.Tensor(dtype, {13});
    const TensorDesc w = t.Tensor(dtype, {7, 1});
    const TensorDesc each = t.Tensor(dtype, {7, 13});
    const TensorDesc one = t.Tensor(dtype, {});
    const TensorDesc dx = t.Strided(dtype, {7, 13}, {1, 7});
    calls.push_back({"aten::mse_loss", {{x}, {target}, Int(kReduceMean)}, {{one}}});
    calls.push_back({"aten::mse_loss", {{x}, {row}, Int(kReduceSum)}, {{one}}});
    calls.push_back({"aten::l1_loss", {{x}, {target}, Int(kReduceNone)}, {{each}}});
    calls.push_back(
        {"aten::smooth_l1_loss", {{x}, {target}, Int(kReduceNone), Double(0.5)}, {{each}}});
    calls.push_back({"aten::huber_loss", {{x}, {target}, Int(kReduceMean), Double(0.5)}, {{one}}});
    calls.push_back(
        {"aten::binary_cross_entropy", {{x}, {target}, {w}, Int(kReduceNone)}, {{each}}});
    calls.push_back({"aten::binary_cross_entropy_with_logits",
                     {{x}, {target}, {w}, {row}, Int(kReduceMean)},
                     {{one}}});
    calls.push_back({"aten::mse_loss_backward", {{one}, {x}, {target}, Int(kReduceMean)}, {{dx}}});
    calls.push_back({"aten::smooth_l1_loss_backward",
                     {{each}, {x}, {target}, Int(kReduceNone), Double(0.5)},
                     {{dx}}});
    calls.push_back({"aten::huber_loss_backward",
                     {{one}, {x}, {target}, Int(kReduceSum), Double(0.5)},
                     {{dx}}});
    calls.push_back({"aten::binary_cross_entropy_backward",
                     {{one}, {x}, {target}, {w}, Int(kReduceMean)},
                     {{dx}}});
  }
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakePointwiseLoss() {
  return MakeParsedKernel(
      {"pointwise_loss", "loss.cl", PointwiseLossSamples},
      CallForm<PointwiseLossCall>{ParsePointwiseLoss, ReferencePointwiseLoss, LowerPointwiseLoss});
}

}  // namespace reprise
