// Gradient norm, clipping, Adam and SGD.
#include <limits>
#include <vector>

#include "predict/workload/job/program.h"
#include "predict/workload/ops/scaling.h"

namespace reprise {
namespace {

constexpr const char* kCaller = "Optimizer.step#Adam.step";
constexpr double kRate = 1e-4;

std::int64_t NormRanks(const Workload& w) {
  const bool sharded = w.layout.distributed_optimizer || w.layout.fsdp || w.layout.experts_apart();
  return sharded ? w.layout.ranks() : w.layout.tp * w.layout.pp;
}

void Clip(Builder& b, const std::vector<TensorDesc>& gradients) {
  b.Op("clip_grad_norm_");
  std::vector<TensorDesc> norms;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    norms.push_back(b.out.New(DType::kFloat32, {}));
  }
  b.out.Work("aten::_foreach_norm", Args(gradients, 2, kNoValue), Args(norms));
  const TensorDesc all =
      b.out.Work("aten::stack", Args(norms, 0),
                 b.out.New(DType::kFloat32, {static_cast<std::int64_t>(norms.size())}));
  TensorDesc norm = b.out.Work("aten::linalg_vector_norm", Args(all, 2, kNoValue, false, kNoValue),
                               b.out.New(DType::kFloat32, {}));
  if (NormRanks(b.workload) > 1) {
    const TensorDesc square =
        b.out.Work("aten::pow", Args(norm, 2), b.out.New(DType::kFloat32, {}));
    b.out.Wait(b.AllReduce("norm", square));
    norm = b.out.Work("aten::sqrt", Args(square), b.out.New(DType::kFloat32, {}));
  }
  b.out.ReadItem(norm);
  b.out.InPlace("aten::_foreach_mul_", gradients, 0.5);
}

// One operator at a time and parameter by parameter: PyTorch's AdamW with foreach=False.
void StepApart(Builder& b, const Optimized& item) {
  const TensorDesc& value = item.master.IsDefined() ? item.master : item.value;
  const TensorDesc& gradient = item.gradient();
  if (b.workload.optimizer == "sgd") {
    b.out.InPlace("aten::mul_", item.mean, 0.9);
    b.out.InPlace("aten::add_", item.mean, gradient, 1);
    b.out.InPlace("aten::add_", value, item.mean, -kRate);
    return;
  }
  b.out.InPlace("aten::add_", item.step, 1, 1);
  if (b.workload.optimizer == "adamw") {
    b.out.InPlace("aten::mul_", value, 1 - kRate * 0.01);
  }
  b.out.InPlace("aten::lerp_", item.mean, gradient, 0.1);
  b.out.InPlace("aten::mul_", item.square, 0.999);
  b.out.InPlace("aten::addcmul_", item.square, gradient, gradient, 0.001);
  b.out.ReadItem(item.step);
  b.out.parent = kCaller;
  const TensorDesc root = b.out.Work("aten::sqrt", Args(item.square), b.NewLike(item.square));
  const TensorDesc scaled = b.out.Work("aten::div", Args(root, 0.03), b.NewLike(root));
  b.out.InPlace("aten::add_", scaled, 1e-8, 1);
  b.out.InPlace("aten::addcdiv_", value, item.mean, scaled, -kRate);
}

void StepAtOnce(Builder& b, const std::vector<Optimized>& items,
                const std::vector<TensorDesc>& gradients) {
  Tensors values, means, squares, steps;
  for (const Optimized& item : items) {
    values.push_back(item.master.IsDefined() ? item.master : item.value);
    means.push_back(item.mean);
    squares.push_back(item.square);
    steps.push_back(item.step);
  }
  if (b.workload.optimizer == "sgd") {
    b.out.Work("aten::_fused_sgd_", Args(values, gradients, means, 0.0, 0.9, kRate, 0.0, false,
                                         false, false, kNoValue, kNoValue));
    return;
  }
  b.out.InPlace("aten::_foreach_add_", steps, 1);
  const bool decoupled = b.workload.optimizer == "adamw";
  b.out.Work(decoupled ? "aten::_fused_adamw_" : "aten::_fused_adam_",
             Args(values, gradients, means, squares, Tensors{}, steps, kRate, 0.9, 0.999,
                  decoupled ? 0.1 : 0, 1e-8, false, false, kNoValue, kNoValue));
}

// Stores masters in 8 bits as Transformer Engine's cast_master_weights_to_fp8: each rank has parts
// of matrices, of whose largest numbers all replicas take the largest. Scales of this step follow
// from these; delayed ones are known before, and the numbers are for later.
void StoreInEight(Builder& b, ParameterStore& store, const std::vector<Optimized>& items,
                  bool expert) {
  Tensors values, masters, norms;
  std::int64_t matrices = 0;
  for (std::size_t i = 0; i < store.buckets.size(); ++i) {  // an item each
    if (store.buckets[i].eight && store.buckets[i].expert == expert) {
      values.push_back(items[i].value);
      masters.push_back(items[i].master);
      norms.push_back(b.out.New(DType::kFloat32, {}));
      matrices += static_cast<std::int64_t>(store.buckets[i].parameters.size());
    }
  }
  if (values.empty()) {
    return;
  }
  const bool delayed = !FindScalingRecipe(b.workload.fp8)->looks_first;
  if (delayed) {
    b.out.InPlace("aten::_foreach_copy_", values, masters, false);
  }
  b.out.Work("aten::_foreach_norm",
             Args(masters, std::numeric_limits<double>::infinity(), kNoValue), Args(norms));
  const auto count = static_cast<std::int64_t>(norms.size());
  const TensorDesc found =
      b.out.Work("aten::stack", Args(norms, 0), b.out.New(DType::kFloat32, {count}));
  const TensorDesc largest = b.Zeros(DType::kFloat32, {matrices});
  b.out.InPlace("aten::copy_", b.out.Part(largest, 0, {count}), found, false);
  if (ParameterStore::Replicas(b.layout(), expert) > 1) {
    b.out.Wait(
        b.AllReduce(ParameterStore::ReplicaGroup(expert), largest, false, {}, ReduceOp::kMax));
  }
  if (!delayed) {
    b.out.InPlace("aten::_foreach_copy_", values, masters, false);
  }
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
  Tensors values, masters;
  for (const Optimized& item : used) {
    if (item.master.IsDefined()) {
      if (SizeOf(item.value.dtype) > 1) {
        values.push_back(item.value);
        masters.push_back(item.master);
      }
    }
  }
  if (!values.empty()) {
    b.out.InPlace("aten::_foreach_copy_", values, masters, false);
  }
  for (const bool expert : {false, true}) {
    StoreInEight(b, store, items, expert);
  }
}

}  // namespace reprise
