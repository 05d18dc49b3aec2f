#include "tests/kernels/gradient_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "kernels/tensor_access.h"
#include "tests/kernels/harness.h"

namespace reprise {
namespace {

class Memory : public HostBindings {
 public:
  void Add(const OpCall& call) {
    const CallMemory filled(call);
    for (const auto& [incarnation, storage] : filled.storages) {
      storages_.try_emplace(incarnation, storage.bytes);
    }
  }
  [[nodiscard]] std::span<std::byte> Find(std::int64_t incarnation) const override {
    return storages_.at(incarnation);
  }

 private:
  mutable std::map<std::int64_t, std::vector<std::byte>> storages_;
};

double Get(const Memory& memory, const TensorDesc& t, std::int64_t i) {
  const HostTensor tensor = *HostTensor::Bind(t, memory);
  return tensor.Get(tensor.OffsetOfElement(i));
}
void Set(const Memory& memory, const TensorDesc& t, std::int64_t i, double value) {
  const HostTensor tensor = *HostTensor::Bind(t, memory);
  tensor.Set(tensor.OffsetOfElement(i), value);
}

double Loss(const GradientPair& pair, const Memory& memory) {
  const Kernel* kernel = KernelRegistry::Builtin().Find(pair.forward);
  EXPECT_TRUE(kernel->Reference(pair.forward, memory));
  const TensorDesc& output = *pair.forward.OutputTensor(0);
  double loss = 0;
  for (std::int64_t i = 0; i < ElementCount(output.shape); ++i) {
    loss += Get(memory, output, i) * Get(memory, pair.output_gradient, i);
  }
  return loss;
}

}  // namespace

void ExpectGradientsAgree(const GradientPair& pair) {
  ASSERT_NE(KernelRegistry::Builtin().Find(pair.forward), nullptr) << Describe(pair.forward);
  const Kernel* backward = KernelRegistry::Builtin().Find(pair.backward);
  ASSERT_NE(backward, nullptr) << Describe(pair.backward);
  Memory memory;
  memory.Add(pair.forward);
  memory.Add(pair.backward);
  Loss(pair, memory);  // the backward reads what the forward saved
  ASSERT_TRUE(backward->Reference(pair.backward, memory));
  for (const auto& [input, gradient] : pair.input_and_gradient) {
    const std::int64_t count = ElementCount(input.shape);
    for (std::int64_t i = 0; i < count; i += std::max<std::int64_t>(1, count / 40)) {
      const double value = Get(memory, input, i);
      const double step = 1.0 / 64;
      Set(memory, input, i, value + step);
      const double above = Loss(pair, memory);
      Set(memory, input, i, value - step);
      const double below = Loss(pair, memory);
      Set(memory, input, i, value);
      const double slope = (above - below) / (2 * step);
      EXPECT_NEAR(Get(memory, gradient, i), slope, 2e-3 + 5e-3 * std::fabs(slope))
          << Describe(pair.backward) << " input " << input.incarnation << " element " << i;
    }
  }
}

}  // namespace reprise
