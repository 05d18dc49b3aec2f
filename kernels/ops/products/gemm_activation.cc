// A matrix product with its activation: aten::addmm, then aten::relu_ or aten::gelu_ on the result.
#include <array>

#include "costs/steps.h"
#include "kernels/kernel.h"
#include "kernels/samples.h"
#include "kernels/views.h"

namespace reprise {
namespace {

const Kernel* KernelOf(const OpCall& step) { return KernelRegistry::Builtin().Find(step); }

class GemmActivation final : public Kernel {
 public:
  [[nodiscard]] std::string_view name() const override { return "gemm_activation"; }
  [[nodiscard]] bool Supports(const OpCall& call) const override {
    const auto steps = ActivatedProductSteps(call);
    return KernelOf(steps[0]) != nullptr && KernelOf(steps[1]) != nullptr;
  }
  [[nodiscard]] Status Reference(const OpCall& call, const HostBindings& memory) const override {
    for (const OpCall& step : ActivatedProductSteps(call)) {
      REPRISE_TRY(KernelOf(step)->Reference(step, memory));
    }
    return {};
  }
  [[nodiscard]] Status RunOnHost(const OpCall& call, const HostBindings& memory) const override {
    for (const OpCall& step : ActivatedProductSteps(call)) {
      REPRISE_TRY(KernelOf(step)->RunOnHost(step, memory));
    }
    return {};
  }
  [[nodiscard]] Result<std::vector<Launch>> LowerToDevice(
      const OpCall& call, const LowerContext& context) const override {
    std::vector<Launch> launches;
    for (const OpCall& step : ActivatedProductSteps(call)) {
      REPRISE_ASSIGN(std::vector<Launch> some, KernelOf(step)->LowerToDevice(step, context));
      std::move(some.begin(), some.end(), std::back_inserter(launches));
    }
    return launches;
  }
  [[nodiscard]] Tolerance tolerance() const override { return {1e-4, 1e-4}; }
  [[nodiscard]] std::vector<OpCall> Samples() const override {
    using samples::Bool;
    using samples::Int;
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
};

}  // namespace

std::unique_ptr<Kernel> MakeGemmActivation() { return std::make_unique<GemmActivation>(); }

}  // namespace reprise
