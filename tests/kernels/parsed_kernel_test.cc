// What kernels do with calls that they cannot lower or do not take.
#include <gtest/gtest.h>

#include "kernels/kernel.h"
#include "kernels/ops/common/call_steps.h"

namespace reprise {
namespace {

class NoBuffers : public Bindings {
 public:
  [[nodiscard]] Buffer* Find(std::int64_t /*incarnation*/) const override { return nullptr; }
};
class NoMemory : public HostBindings {
 public:
  [[nodiscard]] std::span<std::byte> Find(std::int64_t /*incarnation*/) const override {
    return {};
  }
};

bool HasElements(const OpCall& call) {
  for (const ValueList* values : {&call.inputs, &call.outputs}) {
    for (const TensorDesc* tensor : TensorsIn(*values)) {
      if (ElementCount(tensor->shape) == 0) {
        return false;
      }
    }
  }
  return true;
}

TEST(ParsedKernel, LoweringFailsWithoutTheStorages) {
  const NoBuffers memory;
  for (const bool cpu : {false, true}) {
    DeviceInfo device;
    device.is_cpu = cpu;
    device.fp64 = true;
    device.compute_units = 4;
    device.max_work_group_size = 256;
    const LowerContext context{memory, device, [](int, std::int64_t) -> Result<Buffer*> {
                                 return UsageError("no scratch");
                               }};
    for (const auto& kernel : KernelRegistry::Builtin().all()) {
      for (const OpCall& call : kernel->Samples()) {
        if (HasElements(call)) {
          const auto launches = kernel->LowerToDevice(call, context);
          EXPECT_FALSE(launches) << kernel->name() << ": " << call.name;
        }
      }
    }
  }
}

TEST(ParsedKernel, LoweringFailsWhereTheDeviceLacksADtype) {
  const NoBuffers memory;
  DeviceInfo device;
  device.name = "a device without float64";
  device.max_work_group_size = 256;
  const LowerContext context{memory, device,
                             [](int, std::int64_t) -> Result<Buffer*> { return nullptr; }};
  const Kernel* softmax = nullptr;
  for (const auto& kernel : KernelRegistry::Builtin().all()) {
    softmax = kernel->name() == "softmax" ? kernel.get() : softmax;
  }
  ASSERT_NE(softmax, nullptr);
  for (const OpCall& call : softmax->Samples()) {
    if (call.InputTensor(0)->dtype == DType::kFloat64) {
      const auto launches = softmax->LowerToDevice(call, context);
      ASSERT_FALSE(launches);
      // The first failure, not that of the storages, which are missing too.
      EXPECT_EQ(launches.error().kind, ErrorKind::kEnvironment);
      EXPECT_EQ(launches.error().message, "a device without float64 has no float64");
    }
  }
}

TEST(ParsedKernel, RefusesACallThatItDoesNotTake) {
  const NoMemory memory;
  for (const std::string_view name : {"softmax", "index_read", "layer_norm", "random", "copy"}) {
    for (const auto& kernel : KernelRegistry::Builtin().all()) {
      if (kernel->name() == name) {
        const OpCall call{"aten::nothing", {}, {}};
        EXPECT_FALSE(kernel->Supports(call));
        const Status status = kernel->Reference(call, memory);
        const Result<HostRun> run = kernel->LowerToHost(call);
        ASSERT_FALSE(status);
        ASSERT_FALSE(run);
        for (const std::string& message : {status.error().message, run.error().message}) {
          EXPECT_EQ(message, "aten::nothing: arguments that the " + std::string(name) +
                                 " kernel does not take");
        }
      }
    }
  }
}

int parsed = 0;
std::optional<int> CountParse(const OpCall& /*call*/) { return ++parsed; }
Status Ran(const int& /*p*/, const HostBindings& /*memory*/) { return {}; }

TEST(ParsedKernel, RunsWithoutParsingAgain) {
  const auto kernel =
      MakeParsedKernel({.name = "counting"}, CallForm<int>{CountParse, Ran, nullptr});
  const OpCall call{"aten::nothing", {}, {}};
  const CallSteps two{{call, kernel.get()}, {call, kernel.get()}};
  const NoMemory memory;
  for (const int calls : {1, 2}) {
    parsed = 0;
    Result<HostRun> run = calls == 1 ? kernel->LowerToHost(call) : LowerCallStepsToHost(two);
    ASSERT_TRUE(run);
    EXPECT_EQ(parsed, calls);
    EXPECT_TRUE((*run)(memory));
    EXPECT_TRUE((*run)(memory));
    EXPECT_EQ(parsed, calls);
  }
}

}  // namespace
}  // namespace reprise
