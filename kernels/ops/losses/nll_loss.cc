// Negative log-likelihood: kernels/ops/losses/loss.cl.
#include <algorithm>
#include <optional>
#include <type_traits>

#include "kernels/ops/common/host_floats.h"
#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/ops/losses/loss_reduction.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

struct NllLossCall {
  const TensorDesc* x = nullptr;  // (images, classes, positions)
  const TensorDesc* target = nullptr;
  const TensorDesc* weight = nullptr;
  const TensorDesc* total = nullptr;
  const TensorDesc* loss = nullptr;  // forward: result; backward: its gradient
  const TensorDesc* dx = nullptr;    // backward
  std::int64_t images = 0, classes = 0, positions = 0;
  std::int64_t ignore = 0;
  std::int32_t reduction = kReduceMean;
  [[nodiscard]] std::int64_t rows() const { return images * positions; }
};

bool TypesFit(const NllLossCall& p) {
  if (p.x == nullptr || p.target == nullptr || p.total == nullptr || p.loss == nullptr ||
      !IsFloatKernelType(p.x->dtype) || !IsIndexType(p.target->dtype)) {
    return false;
  }
  for (const TensorDesc* tensor : {p.weight, p.total, p.loss, p.dx}) {
    if (tensor != nullptr && tensor->dtype != p.x->dtype) {
      return false;
    }
  }
  return true;
}

// nll_loss_forward(self, target, weight?, reduction, ignore_index) -> (output, total_weight)
// nll_loss_backward(grad, self, target, weight?, reduction, ignore_index, total_weight)
std::optional<NllLossCall> ParseNllLoss(const OpCall& call) {
  const bool backward = call.name.ends_with("_backward");
  const std::size_t first = backward ? 1 : 0;
  NllLossCall p;
  p.x = call.InputTensor(first);
  p.target = call.InputTensor(first + 1);
  p.weight = call.InputTensor(first + 2);
  p.reduction = call.Argument(first + 3).AsNumber<std::int32_t>(kReduceMean);
  p.ignore = call.Argument(first + 4).AsNumber<std::int64_t>(-100);
  p.loss = backward ? call.InputTensor(0) : call.OutputTensor(0);
  p.total = backward ? call.InputTensor(6) : call.OutputTensor(1);
  p.dx = backward ? call.OutputTensor(0) : nullptr;
  if (!TypesFit(p) || (backward && (p.dx == nullptr || p.dx->shape != p.x->shape)) ||
      p.x->shape.empty()) {
    return std::nullopt;
  }
  const Dims& shape = p.x->shape;
  p.images = shape.size() == 1 ? 1 : shape[0];
  p.classes = shape.size() == 1 ? shape[0] : shape[1];
  p.positions = 1;
  for (std::size_t d = 2; d < shape.size(); ++d) {
    p.positions *= shape[d];
  }
  const std::int64_t losses = p.reduction == kReduceNone ? p.rows() : 1;
  const bool fits = p.classes > 0 && Count(*p.target) == p.rows() && Count(*p.loss) == losses &&
                    Count(*p.total) == 1 && (p.weight == nullptr || Count(*p.weight) == p.classes);
  return fits ? std::optional(p) : std::nullopt;
}

// body(row, class, index of the prediction) for every row that is not ignored.
template <typename Body>
void ForTargets(const NllLossCall& p, const Integers& targets, Body&& body) {
  for (std::int64_t row = 0; row < p.rows(); ++row) {
    const std::int64_t target = targets[static_cast<std::size_t>(row)];
    if (target == p.ignore) {
      continue;
    }
    const std::int64_t c = InRange(target, p.classes);
    const std::int64_t image = row / p.positions;
    body(static_cast<std::size_t>(row), static_cast<std::size_t>(c),
         static_cast<std::size_t>((image * p.classes + c) * p.positions + row % p.positions));
  }
}

// `x` is anything indexed by position.
template <typename Predictions>
Status Forward(const NllLossCall& p, const Predictions& x, const HostBindings& memory) {
  REPRISE_ASSIGN(const Integers targets, ReadIntegers(*p.target, memory));
  REPRISE_ASSIGN(const Doubles w, ReadDoublesOr(p.weight, memory, p.classes, 1));
  Doubles losses(static_cast<std::size_t>(p.rows()), 0);
  double sum = 0;
  double total = 0;
  ForTargets(p, targets, [&](std::size_t row, std::size_t c, std::size_t at) {
    losses[row] = -w[c] * static_cast<double>(x[at]);
    sum += losses[row];
    total += w[c];
  });
  if (p.reduction == kReduceNone) {
    REPRISE_TRY(WriteDoubles(*p.total, memory, {0}));
    return WriteDoubles(*p.loss, memory, losses);
  }
  REPRISE_TRY(WriteDoubles(*p.total, memory, {total}));
  return WriteDoubles(*p.loss, memory, {p.reduction == kReduceMean ? sum / total : sum});
}

// `dx` is anything indexed by position, all zero.
template <typename Gradient>
Status Backward(const NllLossCall& p, Gradient& dx, const HostBindings& memory) {
  REPRISE_ASSIGN(const Doubles g, ReadDoubles(*p.loss, memory));
  REPRISE_ASSIGN(const Integers targets, ReadIntegers(*p.target, memory));
  REPRISE_ASSIGN(const Doubles w, ReadDoublesOr(p.weight, memory, p.classes, 1));
  REPRISE_ASSIGN(const Doubles total, ReadDoubles(*p.total, memory));
  ForTargets(p, targets, [&](std::size_t row, std::size_t c, std::size_t at) {
    const double d = -w[c] * g[p.reduction == kReduceNone ? row : 0] /
                     (p.reduction == kReduceMean ? total[0] : 1);
    dx[at] = static_cast<std::remove_reference_t<decltype(dx[at])>>(d);
  });
  return {};
}

Status ReferenceNllLoss(const NllLossCall& p, const HostBindings& memory) {
  if (p.dx == nullptr) {
    REPRISE_ASSIGN(const Doubles x, ReadDoubles(*p.x, memory));
    return Forward(p, x, memory);
  }
  Doubles dx(static_cast<std::size_t>(Count(*p.dx)), 0);
  REPRISE_TRY(Backward(p, dx, memory));
  return WriteDoubles(*p.dx, memory, dx);
}

Status RunNllLossOnHost(const NllLossCall& p, const HostBindings& memory) {
  if (!AreFloats({p.x}) || Count(*p.x) == 0) {
    return ReferenceNllLoss(p, memory);
  }
  if (p.dx == nullptr) {
    REPRISE_ASSIGN(const FloatsIn x, FloatsIn::Read(*p.x, memory));
    return Forward(p, x, memory);
  }
  REPRISE_ASSIGN(FloatsOut dx, FloatsOut::Write(*p.dx, memory));
  std::fill_n(dx.data(), Count(*p.dx), 0.0F);
  REPRISE_TRY(Backward(p, dx, memory));
  return dx.Store(memory);
}

void LowerNllLoss(const NllLossCall& p, RowLowering& rows) {
  rows.UseTypes({{"X", p.x->dtype}, {"I", p.target->dtype}}, AccumulatorOf(p.x->dtype));
  const DenseOperand target = rows.Read(*p.target);
  const bool weighted = p.weight != nullptr;
  if (p.dx != nullptr) {
    const DenseOperand g = rows.Read(*p.loss);
    rows.LaunchRows("nll_loss_backward", p.images, static_cast<double>(p.classes * p.positions), g,
                    target, rows.ReadOr(p.weight, g), rows.Read(*p.total), rows.Write(*p.dx),
                    p.images, p.classes, p.positions, p.ignore, weighted, p.reduction);
  } else {
    const DenseOperand x = rows.Read(*p.x);
    rows.LaunchGroups("nll_loss", 1, x, target, rows.ReadOr(p.weight, x), rows.Write(*p.loss),
                      rows.Write(*p.total), p.rows(), p.classes, p.positions, p.ignore, weighted,
                      p.reduction);
  }
}

std::vector<OpCall> NllLossSamples() {
  using samples::Int, samples::None;
  std::vector<OpCall> calls;
  const auto add = [&calls](DType dtype, const Dims& shape, const Dims& targets, bool weighted,
                            std::int64_t reduction, std::int64_t ignore) {
    samples::SampleTensors t;
    const TensorDesc x = t.Tensor(dtype, shape);
    const TensorDesc target = t.Tensor(DType::kInt64, targets);
    const std::int64_t classes = shape.size() == 1 ? shape[0] : shape[1];
    const Value weight = weighted ? Value{t.Strided(dtype, {classes}, {2}, 1)} : None();
    const TensorDesc loss = t.Tensor(dtype, reduction == kReduceNone ? targets : Dims{});
    const TensorDesc total = t.Tensor(dtype, {});
    const TensorDesc dx = t.Tensor(dtype, shape);
    const bool image = shape.size() > 2;
    calls.push_back({image ? "aten::nll_loss2d_forward" : "aten::nll_loss_forward",
                     {{x}, {target}, weight, Int(reduction), Int(ignore)},
                     {{loss}, {total}}});
    calls.push_back({image ? "aten::nll_loss2d_backward" : "aten::nll_loss_backward",
                     {{loss}, {x}, {target}, weight, Int(reduction), Int(ignore), {total}},
                     {{dx}}});
  };
  add(DType::kFloat32, {17, 23}, {17}, false, kReduceMean, -100);
  add(DType::kFloat32, {17, 5}, {17}, true, kReduceSum, 2);
  add(DType::kFloat32, {17, 5}, {17}, true, kReduceNone, 3);
  add(DType::kFloat32, {11}, {}, false, kReduceMean, -100);
  add(DType::kFloat32, {2, 5, 3, 4}, {2, 3, 4}, true, kReduceMean, 1);
  add(DType::kFloat64, {9, 7}, {9}, true, kReduceMean, 2);
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeNllLoss() {
  return MakeParsedKernel(
      {"nll_loss", "loss.cl", NllLossSamples},
      CallForm<NllLossCall>{ParseNllLoss, ReferenceNllLoss, LowerNllLoss, RunNllLossOnHost});
}

}  // namespace reprise
