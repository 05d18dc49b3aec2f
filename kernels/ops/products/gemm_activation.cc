// A matrix product with its activation: aten::addmm, then aten::relu_ or aten::gelu_ on the result.
#include "core/costs/steps.h"
#include "kernels/ops/common/call_steps.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

std::vector<OpCall> ActivationSamples() {
  using samples::Bool, samples::Int;
  std::vector<OpCall> calls;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const char* device : {"cpu", "cuda:0"}) {
      for (const bool gelu : {false, true}) {
        samples::SampleTensors t;
        TensorDesc out = t.Tensor(dtype, {13, 19});
        out.device = device;
        calls.push_back({"aten::_addmm_activation",
                         {{t.Tensor(dtype, {19})},
                          {t.Tensor(dtype, {13, 7})},
                          {t.Strided(dtype, {7, 19}, {1, 7})},
                          Int(1),
                          Int(2),
                          Bool(gelu)},
                         {{out}}});
      }
    }
  }
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeGemmActivation() {
  return MakeStepsKernel<ActivatedProductSteps>(
      {.name = "gemm_activation", .samples = ActivationSamples, .tolerance = {1e-4, 1e-4}});
}

}  // namespace reprise
