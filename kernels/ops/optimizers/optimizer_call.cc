#include "kernels/ops/optimizers/optimizer_call.h"

#include <algorithm>
#include <cmath>

#include "kernels/ops/common/host_values.h"

namespace reprise {
namespace {

bool IsScalarFloat32(const TensorDesc* tensor) {
  return tensor == nullptr || (tensor->dtype == DType::kFloat32 && Count(*tensor) == 1);
}

void AddFlag(OptimizerCall& c, std::int32_t flag, bool on) { c.flags |= on ? flag : 0; }

// Argument `lr` is a number or a tensor; the two last arguments are the scaler's.
bool ParseShared(const OpCall& call, std::size_t lr, std::size_t scale, OptimizerCall& c) {
  c.rate = call.InputTensor(lr);
  c.lr = NumberOr(call.Argument(lr), 0);
  c.scale = call.InputTensor(scale);
  c.found_inf = call.InputTensor(scale + 1);
  AddFlag(c, kOptimizerTensorRate, c.rate != nullptr);
  AddFlag(c, kOptimizerScale, c.scale != nullptr);
  AddFlag(c, kOptimizerFoundInf, c.found_inf != nullptr);
  return IsScalarFloat32(c.rate) && IsScalarFloat32(c.scale) && IsScalarFloat32(c.found_inf);
}

// _fused_adam_(self[], grads[], exp_avgs[], exp_avg_sqs[], max_exp_avg_sqs[], steps[], lr, beta1,
// beta2, weight_decay, eps, amsgrad, maximize, grad_scale?, found_inf?)
bool ParseAdam(const OpCall& call, OptimizerCall& c) {
  c.beta1 = NumberOr(call.Argument(7), 0.9);
  c.beta2 = NumberOr(call.Argument(8), 0.999);
  c.decay = NumberOr(call.Argument(9), 0);
  c.eps = NumberOr(call.Argument(10), 0);
  AddFlag(c, kOptimizerDecoupled, call.name == "aten::_fused_adamw_");
  AddFlag(c, kOptimizerAmsgrad, TruthOr(call.Argument(11), false));
  AddFlag(c, kOptimizerMaximize, TruthOr(call.Argument(12), false));
  const auto params = call.InputTensors(0);
  const std::array lists = {call.InputTensors(1), call.InputTensors(2), call.InputTensors(3),
                            call.InputTensors(5)};
  const auto largest = call.InputTensors(4);
  const bool amsgrad = (c.flags & kOptimizerAmsgrad) != 0;
  for (const auto& list : lists) {
    if (list.size() != params.size()) {
      return false;
    }
  }
  if (amsgrad && largest.size() != params.size()) {
    return false;
  }
  for (std::size_t i = 0; i < params.size(); ++i) {
    const TensorDesc* most = amsgrad ? largest[i] : nullptr;
    c.steps.push_back({params[i], lists[0][i], {lists[1][i], lists[2][i], most}, lists[3][i]});
  }
  // log(beta) must exist.
  return c.beta1 > 0 && c.beta2 > 0 && ParseShared(call, 6, 13, c);
}

// _fused_sgd_(self[], grads[], momentum_buffers[], weight_decay, momentum, lr, dampening, nesterov,
// maximize, is_first_step, grad_scale?, found_inf?)
bool ParseSgd(const OpCall& call, OptimizerCall& c) {
  c.decay = NumberOr(call.Argument(3), 0);
  c.momentum = NumberOr(call.Argument(4), 0);
  c.dampening = NumberOr(call.Argument(6), 0);
  AddFlag(c, kOptimizerMomentum, c.momentum != 0);
  AddFlag(c, kOptimizerNesterov, TruthOr(call.Argument(7), false));
  AddFlag(c, kOptimizerMaximize, TruthOr(call.Argument(8), false));
  AddFlag(c, kOptimizerFirstStep, TruthOr(call.Argument(9), false));
  const auto params = call.InputTensors(0);
  const auto grads = call.InputTensors(1);
  const auto buffers = call.InputTensors(2);
  if (grads.size() != params.size() || (c.momentum != 0 && buffers.size() != params.size())) {
    return false;
  }
  for (std::size_t i = 0; i < params.size(); ++i) {
    c.steps.push_back({params[i], grads[i], {c.momentum != 0 ? buffers[i] : nullptr}, nullptr});
  }
  return ParseShared(call, 5, 10, c);
}

bool Fits(const OptimizerCall& c, const ParameterStep& p) {
  if (!IsFloatKernelType(p.param->dtype)) {
    return false;
  }
  for (const TensorDesc* tensor : {p.grad, p.states[0], p.states[1], p.states[2]}) {
    if (tensor != nullptr && (tensor->dtype != p.param->dtype || tensor->shape != p.param->shape)) {
      return false;
    }
  }
  return !c.adam || (p.step != nullptr && IsFloatKernelType(p.step->dtype) && Count(*p.step) == 1);
}

// The values of one parameter while it is updated.
struct Values {
  Doubles param, grad;
  std::array<Doubles, 3> states;
};

// Loshchilov and Hutter, "Decoupled weight decay regularization", algorithm 2; a state step below 1
// counts as 1.
void UpdateAdam(const OptimizerCall& c, double lr, double recorded_step, Values& v) {
  const double step = std::max(recorded_step, 1.0);
  const double correction1 = 1 - std::pow(c.beta1, step);
  const double correction2 = std::sqrt(1 - std::pow(c.beta2, step));
  for (std::size_t i = 0; i < v.param.size(); ++i) {
    double g = (c.flags & kOptimizerMaximize) != 0 ? -v.grad[i] : v.grad[i];
    if ((c.flags & kOptimizerDecoupled) != 0) {
      v.param[i] -= lr * c.decay * v.param[i];
    } else {
      g += c.decay * v.param[i];
    }
    double& mean = v.states[0][i];
    double& square = v.states[1][i];
    mean = c.beta1 * mean + (1 - c.beta1) * g;
    square = c.beta2 * square + (1 - c.beta2) * g * g;
    double spread = square;
    if ((c.flags & kOptimizerAmsgrad) != 0) {
      v.states[2][i] = std::fmax(v.states[2][i], square);
      spread = v.states[2][i];
    }
    v.param[i] -= lr / correction1 * mean / (std::sqrt(spread) / correction2 + c.eps);
  }
}

void UpdateSgd(const OptimizerCall& c, double lr, Values& v) {
  for (std::size_t i = 0; i < v.param.size(); ++i) {
    double g = (c.flags & kOptimizerMaximize) != 0 ? -v.grad[i] : v.grad[i];
    g += c.decay * v.param[i];
    if ((c.flags & kOptimizerMomentum) != 0) {
      double& buffer = v.states[0][i];
      const bool first = (c.flags & kOptimizerFirstStep) != 0;
      buffer = first ? g : c.momentum * buffer + (1 - c.dampening) * g;
      g = (c.flags & kOptimizerNesterov) != 0 ? g + c.momentum * buffer : buffer;
    }
    v.param[i] -= lr * g;
  }
}

}  // namespace

std::optional<OptimizerCall> ParseOptimizer(const OpCall& call) {
  OptimizerCall c;
  c.adam = call.name != "aten::_fused_sgd_";
  if (!(c.adam ? ParseAdam(call, c) : ParseSgd(call, c)) ||
      !std::all_of(c.steps.begin(), c.steps.end(),
                   [&](const ParameterStep& p) { return Fits(c, p); })) {
    return std::nullopt;
  }
  return c;
}

Status ReferenceOptimizer(const OptimizerCall& c, const HostBindings& memory) {
  REPRISE_ASSIGN(const Doubles lr, ReadDoublesOr(c.rate, memory, 1, c.lr));
  REPRISE_ASSIGN(const Doubles scale, ReadDoublesOr(c.scale, memory, 1, 1));
  REPRISE_ASSIGN(const Doubles found_inf, ReadDoublesOr(c.found_inf, memory, 1, 0));
  if (found_inf[0] != 0) {
    return {};
  }
  for (const ParameterStep& p : c.steps) {
    Values v;
    REPRISE_ASSIGN(v.param, ReadDoubles(*p.param, memory));
    REPRISE_ASSIGN(v.grad, ReadDoubles(*p.grad, memory));
    for (std::size_t i = 0; i < p.states.size(); ++i) {
      REPRISE_ASSIGN(v.states[i], ReadDoublesOr(p.states[i], memory, 0, 0));
    }
    for (double& g : v.grad) {
      g /= scale[0];
    }
    if (c.adam) {
      REPRISE_ASSIGN(const Doubles step, ReadDoubles(*p.step, memory));
      UpdateAdam(c, lr[0], step[0], v);
    } else {
      UpdateSgd(c, lr[0], v);
    }
    REPRISE_TRY(WriteDoubles(*p.param, memory, v.param));
    for (std::size_t i = 0; i < p.states.size(); ++i) {
      REPRISE_TRY(WriteDoublesIf(p.states[i], memory, v.states[i]));
    }
    if (c.scale != nullptr) {
      REPRISE_TRY(WriteDoubles(*p.grad, memory, v.grad));
    }
  }
  return {};
}

}  // namespace reprise
