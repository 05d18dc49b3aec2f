#include "tests/kernels/torch_samples.h"

#include <algorithm>
#include <set>
#include <string>

namespace reprise {

bool HasAnotherMeaning(const Kernel& kernel, const OpCall& call) {
  static const std::set<std::string> operators = {"aten::sort",
                                                  "aten::topk",
                                                  "aten::kthvalue",
                                                  "aten::_fused_sgd_",
                                                  "aten::_fused_adam_",
                                                  "aten::_fused_adamw_",
                                                  "aten::max_pool2d_with_indices_backward",
                                                  "aten::adaptive_max_pool2d_backward",
                                                  "aten::grid_sampler_2d_backward"};
  const auto is_bool = [](const TensorDesc* t) { return t->dtype == DType::kBool; };
  const auto inputs = TensorsIn(call.inputs);
  return kernel.name() == "random" || operators.contains(call.name) ||
         (call.name.starts_with("aten::native_layer_norm") &&
          call.InputTensor(0)->dtype != DType::kFloat32) ||
         (kernel.name() == "attention" && std::any_of(inputs.begin(), inputs.end(), is_bool)) ||
         (call.name == "aten::_embedding_bag_dense_backward" &&
          call.inputs[7].AsNumber<int>(0) != 0);
}

Kernel::Tolerance ToleranceOf(const Kernel& kernel, const OpCall& call) {
  Kernel::Tolerance tolerance = kernel.tolerance();
  for (const TensorDesc* tensor : TensorsIn(call.inputs)) {
    if (IsFloating(tensor->dtype) && SizeOf(tensor->dtype) == 2) {
      tolerance = {.absolute = 0.06, .relative = 0.05};
    }
  }
  return tolerance;
}

}  // namespace reprise
