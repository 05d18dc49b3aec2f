// Gradient norm, clipping, Adam and SGD.
#include <vector>

#include "workload/job/program.h"

namespace reprise {
namespace {

constexpr const char* kCaller = "Optimizer.step#Adam.step";
constexpr double kRate = 1e-4;

std::int64_t NormRanks(const Workload& w) {
  const bool sharded = w.layout.distributed_optimizer || w.layout.fsdp || w.layout.ep > 1;
  return sharded ? w.layout.ranks() : w.layout.tp * w.layout.pp;
}

void Clip(Builder& b, const std::vector<TensorDesc>& gradients) {
  b.Op("clip_grad_norm_");
  std::vector<TensorDesc> norms;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    norms.push_back(b.out.New(DType::kFloat32, {}));
  }
  b.out.Work("aten::_foreach_norm", {OfTensors(gradients), OfInt(2), {}}, {OfTensors(norms)});
  const TensorDesc all = b.out.New(DType::kFloat32, {static_cast<std::int64_t>(norms.size())});
  b.out.Work("aten::stack", {OfTensors(norms), OfInt(0)}, {Of(all)});
  TensorDesc norm = b.out.New(DType::kFloat32, {});
  b.out.Work("aten::linalg_vector_norm", {Of(all), OfInt(2), {}, OfBool(false), {}}, {Of(norm)});
  if (NormRanks(b.workload) > 1) {
    const TensorDesc square = b.out.New(DType::kFloat32, {});
    b.out.Work("aten::pow", {Of(norm), OfInt(2)}, {Of(square)});
    b.out.Wait(b.AllReduce("norm", square));
    norm = b.out.New(DType::kFloat32, {});
    b.out.Work("aten::sqrt", {Of(square)}, {Of(norm)});
  }
  b.out.ReadItem(norm);
  b.out.Work("aten::_foreach_mul_", {OfTensors(gradients), OfDouble(0.5)}, {OfTensors(gradients)});
}

// One operator at a time and parameter by parameter: PyTorch's AdamW with foreach=False.
void StepApart(Builder& b, const Optimized& item) {
  const auto work = [&b](const char* name, ValueList inputs, const TensorDesc& result) {
    b.out.Work(name, std::move(inputs), {Of(result)});
  };
  const TensorDesc& value = item.master.IsDefined() ? item.master : item.value;
  const TensorDesc& gradient = item.gradient();
  if (b.workload.optimizer == "sgd") {
    work("aten::mul_", {Of(item.mean), OfDouble(0.9)}, item.mean);
    work("aten::add_", {Of(item.mean), Of(gradient), OfInt(1)}, item.mean);
    work("aten::add_", {Of(value), Of(item.mean), OfDouble(-kRate)}, value);
    return;
  }
  work("aten::add_", {Of(item.step), OfInt(1), OfInt(1)}, item.step);
  if (b.workload.optimizer == "adamw") {
    work("aten::mul_", {Of(value), OfDouble(1 - kRate * 0.01)}, value);
  }
  work("aten::lerp_", {Of(item.mean), Of(gradient), OfDouble(0.1)}, item.mean);
  work("aten::mul_", {Of(item.square), OfDouble(0.999)}, item.square);
  work("aten::addcmul_", {Of(item.square), Of(gradient), Of(gradient), OfDouble(0.001)},
       item.square);
  b.out.ReadItem(item.step);
  b.out.parent = kCaller;
  const TensorDesc root = b.NewLike(item.square);
  work("aten::sqrt", {Of(item.square)}, root);
  const TensorDesc scaled = b.NewLike(root);
  work("aten::div", {Of(root), OfDouble(0.03)}, scaled);
  work("aten::add_", {Of(scaled), OfDouble(1e-8), OfInt(1)}, scaled);
  work("aten::addcdiv_", {Of(value), Of(item.mean), Of(scaled), OfDouble(-kRate)}, value);
}

void StepAtOnce(Builder& b, const std::vector<Optimized>& items,
                const std::vector<TensorDesc>& gradients) {
  std::vector<TensorDesc> values;
  std::vector<TensorDesc> means;
  std::vector<TensorDesc> squares;
  std::vector<TensorDesc> steps;
  for (const Optimized& item : items) {
    values.push_back(item.master.IsDefined() ? item.master : item.value);
    means.push_back(item.mean);
    squares.push_back(item.square);
    steps.push_back(item.step);
  }
  const Value none{ValueList{}};
  if (b.workload.optimizer == "sgd") {
    b.out.Work("aten::_fused_sgd_",
               {OfTensors(values),
                OfTensors(gradients),
                OfTensors(means),
                OfDouble(0),
                OfDouble(0.9),
                OfDouble(kRate),
                OfDouble(0),
                OfBool(false),
                OfBool(false),
                OfBool(false),
                {},
                {}},
               {});
    return;
  }
  b.out.Work("aten::_foreach_add_", {OfTensors(steps), OfInt(1)}, {OfTensors(steps)});
  const bool decoupled = b.workload.optimizer == "adamw";
  b.out.Work(decoupled ? "aten::_fused_adamw_" : "aten::_fused_adam_",
             {OfTensors(values),
              OfTensors(gradients),
              OfTensors(means),
              OfTensors(squares),
              none,
              OfTensors(steps),
              OfDouble(kRate),
              OfDouble(0.9),
              OfDouble(0.999),
              OfDouble(decoupled ? 0.1 : 0),
              OfDouble(1e-8),
              OfBool(false),
              OfBool(false),
              {},
              {}},
             {});
}

}  // namespace

void RunOptimizer(Builder& b, ParameterStore& store) {
  const std::vector<Optimized>& items = store.Items();
  std::vector<TensorDesc> gradients;
  std::vector<Optimized> used;
  for (const Optimized& item : items) {
    if (item.sum.IsDefined() || item.parameter->has_gradient) {
      used.push_back(item);
      gradients.push_back(item.gradient());
    }
  }
  if (used.empty()) {
    return;
  }
  if (b.workload.clip > 0) {
    Clip(b, gradients);
  }
  b.Op(kCaller);
  if (b.workload.separate_optimizer) {
    for (const Optimized& item : used) {
      StepApart(b, item);
    }
  } else {
    StepAtOnce(b, used, gradients);
  }
  std::vector<TensorDesc> values;
  std::vector<TensorDesc> masters;
  for (const Optimized& item : used) {
    if (item.master.IsDefined()) {
      values.push_back(item.value);
      masters.push_back(item.master);
    }
  }
  if (!values.empty()) {
    b.out.Work("aten::_foreach_copy_", {OfTensors(values), OfTensors(masters), OfBool(false)},
               {OfTensors(values)});
  }
}

}  // namespace reprise
