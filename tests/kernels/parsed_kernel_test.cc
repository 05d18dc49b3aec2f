// What kernels do with calls that they cannot lower or do not take.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>

#include "kernels/kernel.h"
#include "kernels/ops/common/call_steps.h"
#include "kernels/samples.h"
#include "tests/kernels/harness.h"

namespace reprise {
namespace {

class NoBuffers : public Bindings {
 public:
  [[nodiscard]] Buffer* Find(std::int64_t /*incarnation*/) const override { return nullptr; }
};
// For any storage.
class OneBuffer : public Buffer, public Bindings {
 public:
  [[nodiscard]] std::int64_t size_bytes() const override { return INT64_MAX; }
  [[nodiscard]] std::byte* host_data() override { return nullptr; }
  [[nodiscard]] Buffer* Find(std::int64_t /*incarnation*/) const override {
    return const_cast<OneBuffer*>(this);  // NOLINT: nothing writes to it
  }
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

bool HasFloat64(const OpCall& call) {
  for (const ValueList* values : {&call.inputs, &call.outputs}) {
    for (const TensorDesc* tensor : TensorsIn(*values)) {
      if (tensor->dtype == DType::kFloat64) {
        return true;
      }
    }
  }
  return false;
}

// What a compiler without double precision refuses.
bool NeedsFloat64(const DeviceKernel& kernel) {
  return kernel.options.find("float64") != std::string::npos ||
         kernel.options.find("double") != std::string::npos || kernel.entry == "sequence_double" ||
         std::any_of(kernel.args.begin(), kernel.args.end(),
                     [](const auto& arg) { return std::holds_alternative<double>(arg); });
}

TEST(ParsedKernel, LoweringFailsWhereTheDeviceLacksADtype) {
  OneBuffer memory;
  DeviceInfo device;
  device.name = "a device without float64";
  device.max_work_group_size = 256;
  const LowerContext context{memory, device,
                             [&](int, std::int64_t) -> Result<Buffer*> { return &memory; }};
  int refused = 0;
  for (const auto& kernel : KernelRegistry::Builtin().all()) {
    for (const OpCall& call : kernel->Samples()) {
      SCOPED_TRACE(std::string(kernel->name()) + ": " + Describe(call));
      const auto launches = kernel->LowerToDevice(call, context);
      if (!launches) {
        EXPECT_TRUE(HasFloat64(call));
        EXPECT_EQ(launches.error().kind, ErrorKind::kEnvironment);
        EXPECT_EQ(launches.error().message,
                  "a device without float64 has no float64; try another device, or --ops timed");
        ++refused;
        continue;
      }
      for (const Launch& launch : *launches) {
        const auto* const program = std::get_if<DeviceKernel>(&launch);
        EXPECT_FALSE(program != nullptr && NeedsFloat64(*program)) << program->program;
      }
    }
  }
  EXPECT_GT(refused, 3);
}

// CUDA's grids have at most 65,535 groups in y and z ("Technical Specifications per Compute
// Capability"), its OpenCL no more: many rows, and many products in one call.
TEST(ParsedKernel, GridsOfProductsFitAGpu) {
  constexpr std::size_t kMostGroups = 65'535;
  constexpr std::int64_t kMany = 70'000;
  const OneBuffer memory;
  DeviceInfo device;
  device.fp64 = true;
  device.compute_units = 132;
  device.max_work_group_size = 1024;
  for (const bool tensor_cores : {false, true}) {
    device.tensor_cores = tensor_cores;
    const LowerContext context{memory, device,
                               [](int, std::int64_t) -> Result<Buffer*> { return nullptr; }};
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat64, DType::kInt32}) {
      samples::SampleTensors t;
      const auto tensor = [&](std::vector<std::int64_t> shape) {
        return Value{t.Tensor(dtype, std::move(shape))};
      };
      const std::vector<OpCall> calls = {
          {.name = "aten::mm",
           .inputs = {tensor({100 * kMany, 16}), tensor({16, 16})},
           .outputs = {tensor({100 * kMany, 16})}},
          {.name = "aten::bmm",
           .inputs = {tensor({kMany, 16, 16}), tensor({kMany, 16, 16})},
           .outputs = {tensor({kMany, 16, 16})}}};
      for (const OpCall& call : calls) {
        SCOPED_TRACE(Describe(call));
        const Kernel* const kernel = KernelRegistry::Builtin().Find(call);
        ASSERT_NE(kernel, nullptr);
        const auto launches = kernel->LowerToDevice(call, context);
        ASSERT_TRUE(launches) << launches.error().message;
        ASSERT_FALSE(launches->empty());
        for (const Launch& launch : *launches) {
          const auto& grid = std::get<DeviceKernel>(launch);
          EXPECT_GE(grid.global[0] * grid.global[1] * grid.global[2], kMany);
          for (const std::size_t d : {1U, 2U}) {
            EXPECT_LE(grid.global.at(d) / grid.local.at(d), kMostGroups);
          }
        }
      }
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
