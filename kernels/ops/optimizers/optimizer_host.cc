#include <algorithm>
#include <cmath>

#include "kernels/cpu/parallel_for.h"
#include "kernels/ops/common/host_loops.h"
#include "kernels/ops/common/host_values.h"
#include "kernels/ops/optimizers/optimizer_call.h"

namespace reprise {
namespace {

bool IsPlainAdam(const OptimizerCall& c) {
  const auto dense = [](const TensorDesc* tensor) {
    return tensor != nullptr && tensor->dtype == DType::kFloat32 && IsContiguous(*tensor);
  };
  constexpr std::int32_t kOthers =
      kOptimizerAmsgrad | kOptimizerMaximize | kOptimizerScale | kOptimizerFoundInf;
  return c.adam && (c.flags & kOthers) == 0 &&
         std::all_of(c.steps.begin(), c.steps.end(), [&](const ParameterStep& p) {
           return dense(p.param) && dense(p.grad) && dense(p.states[0]) && dense(p.states[1]);
         });
}

Result<float*> FloatsOf(const TensorDesc& tensor, const HostBindings& memory) {
  REPRISE_ASSIGN(const HostTensor bound, HostTensor::Bind(tensor, memory));
  return bound.As<float>();
}

loops::AdamStep StepOf(const OptimizerCall& c, double lr, double recorded_step) {
  const double step = std::max(recorded_step, 1.0);
  const bool decoupled = (c.flags & kOptimizerDecoupled) != 0;
  return {.keep = static_cast<float>(decoupled ? 1 - lr * c.decay : 1),
          .decay = static_cast<float>(decoupled ? 0 : c.decay),
          .beta1 = static_cast<float>(c.beta1),
          .rest1 = static_cast<float>(1 - c.beta1),
          .beta2 = static_cast<float>(c.beta2),
          .rest2 = static_cast<float>(1 - c.beta2),
          .rate = static_cast<float>(lr / (1 - std::pow(c.beta1, step))),
          .spread = static_cast<float>(1 / std::sqrt(1 - std::pow(c.beta2, step))),
          .eps = static_cast<float>(c.eps)};
}

}  // namespace

Status RunOptimizerOnHost(const OptimizerCall& c, const HostBindings& memory) {
  if (!IsPlainAdam(c)) {
    return ReferenceOptimizer(c, memory);
  }
  REPRISE_ASSIGN(const Doubles lr, ReadDoublesOr(c.rate, memory, 1, c.lr));
  for (const ParameterStep& p : c.steps) {
    const std::int64_t n = Count(*p.param);
    if (n == 0) {
      continue;
    }
    REPRISE_ASSIGN(const Doubles step, ReadDoubles(*p.step, memory));
    REPRISE_ASSIGN(const float* const grad, FloatsOf(*p.grad, memory));
    REPRISE_ASSIGN(float* const param, FloatsOf(*p.param, memory));
    REPRISE_ASSIGN(float* const mean, FloatsOf(*p.states[0], memory));
    REPRISE_ASSIGN(float* const square, FloatsOf(*p.states[1], memory));
    const loops::AdamStep adam = StepOf(c, lr[0], step[0]);
    ParallelFor(n, GrainSize(7 * sizeof(float)), [&](std::int64_t begin, std::int64_t end) {
      loops::Adam(adam, grad + begin, param + begin, mean + begin, square + begin, end - begin);
    });
  }
  return {};
}

}  // namespace reprise
