// Fused Adam, AdamW and SGD, and gradient scaling, one launch a tensor:
// kernels/ops/optimizers/optimizer.cl.
#include <array>
#include <cmath>

#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/ops/optimizers/optimizer_call.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

std::array<float, 2> BetaPair(double beta) {
  return {static_cast<float>(beta), static_cast<float>(1 - beta)};
}

// A parameter's operands in one order of its dimensions, so that any dense layout is linear.
TensorDesc InOrder(const TensorDesc& tensor, const TensorDesc& param) {
  return Permuted(tensor, MemoryOrder(param));
}

void AppendStep(RowLowering& rows, const OptimizerCall& c, const ParameterStep& p) {
  const DType step_type = p.step == nullptr ? DType::kFloat32 : p.step->dtype;
  rows.UseTypes({{"X", p.param->dtype}, {"S", step_type}}, AccumulatorOf(p.param->dtype));
  const DenseOperand param = rows.Update(InOrder(*p.param, *p.param));
  const DenseOperand grad = rows.Update(InOrder(*p.grad, *p.param));
  std::array<DenseOperand, 3> states = {param, param, param};
  for (std::size_t i = 0; i < p.states.size(); ++i) {
    if (p.states[i] != nullptr) {
      states[i] = rows.Update(InOrder(*p.states[i], *p.param));
    }
  }
  const DenseOperand rate = rows.ReadOr(c.rate, param);
  const DenseOperand scale = rows.ReadOr(c.scale, param);
  const DenseOperand found_inf = rows.ReadOr(c.found_inf, param);
  const std::int64_t n = Count(*p.param);
  const auto lr = static_cast<float>(c.lr);
  const auto decay = static_cast<float>(c.decay);
  if (c.adam) {
    const auto [beta1, rest1] = BetaPair(c.beta1);
    const auto [beta2, rest2] = BetaPair(c.beta2);
    rows.LaunchItems("adam", n, param, grad, states[0], states[1], states[2], rows.Read(*p.step),
                     rate, scale, found_inf, n, lr, beta1, rest1, beta2, rest2,
                     static_cast<float>(std::log(c.beta1)), static_cast<float>(std::log(c.beta2)),
                     decay, static_cast<float>(c.eps), c.flags);
  } else {
    rows.LaunchItems("sgd", n, param, grad, states[0], rate, scale, found_inf, n, lr,
                     static_cast<float>(c.momentum), static_cast<float>(1 - c.dampening), decay,
                     c.flags);
  }
}

void LowerOptimizer(const OptimizerCall& c, RowLowering& rows) {
  for (const ParameterStep& p : c.steps) {
    AppendStep(rows, c, p);
    rows.Finish();  // the next tensor's launches may use the same scratch
  }
}

std::vector<OpCall> OptimizerSamples() {
  using samples::Bool, samples::Double, samples::None, samples::Tensors;
  std::vector<OpCall> calls;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBFloat16}) {
    samples::SampleTensors t;
    const auto list = [&](const Dims& strides) {
      return std::vector<TensorDesc>{t.Tensor(dtype, {37}),
                                     t.Strided(dtype, {3, 5, 4}, strides, 1)};
    };
    const Dims swapped = {20, 1, 5};
    const Value params = Tensors(list(swapped));
    const Value grads = Tensors(list({20, 4, 1}));
    const Value means = Tensors(list(swapped));
    const Value squares = Tensors(list(swapped));
    const Value largest = Tensors(list(swapped));
    const Value steps = Tensors({t.Tensor(DType::kFloat32, {}), t.Tensor(DType::kFloat32, {})});
    const Value nothing{ValueList{}};
    const Value rate{t.Tensor(DType::kFloat32, {})};
    const Value scale{t.Tensor(DType::kFloat32, {1})};
    for (const bool amsgrad : {false, true}) {
      calls.push_back({"aten::_fused_adamw_",
                       {params, grads, means, squares, amsgrad ? largest : nothing, steps,
                        Double(1e-3), Double(0.9), Double(0.999), Double(0.01), Double(1e-2),
                        Bool(amsgrad), Bool(amsgrad), None(), None()},
                       {}});
    }
    calls.push_back(
        {"aten::_fused_adam_",
         {params, grads, means, squares, nothing, steps, rate, Double(0.9), Double(0.95),
          Double(0.1), Double(1e-2), Bool(false), Bool(false), scale, None()},
         {}});
    calls.push_back({"aten::_fused_sgd_",
                     {params, grads, means, Double(0.1), Double(0.9), Double(0.01), Double(0.2),
                      Bool(true), Bool(false), Bool(false), None(), None()},
                     {}});
    calls.push_back({"aten::_fused_sgd_",
                     {params, grads, nothing, Double(0), Double(0), rate, Double(0), Bool(false),
                      Bool(true), Bool(false), None(), None()},
                     {}});
    calls.push_back({"aten::_fused_sgd_",
                     {params, grads, means, Double(0.1), Double(0.9), Double(0.01), Double(0),
                      Bool(false), Bool(false), Bool(true), None(), scale},
                     {}});
  }
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeOptimizer() {
  return MakeParsedKernel({"optimizer", "optimizer.cl", OptimizerSamples},
                          CallForm<OptimizerCall>{ParseOptimizer, ReferenceOptimizer,
                                                  LowerOptimizer, RunOptimizerOnHost});
}

}  // namespace reprise
