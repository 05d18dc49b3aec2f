// The GPU's shape of the matrix product, on whatever device there is.
#include <gtest/gtest.h>

#include "tests/kernels/harness.h"

namespace reprise {
namespace {

// A device that says it is no CPU.
class PretendedGpu : public Device {
 public:
  explicit PretendedGpu(Device& device) : device_(device), info_(device.info()) {
    info_.is_cpu = false;
  }
  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] Result<std::unique_ptr<Buffer>> Allocate(std::int64_t bytes) override {
    return device_.Allocate(bytes);
  }
  [[nodiscard]] Result<std::unique_ptr<Stream>> CreateStream(bool profiling) override {
    return device_.CreateStream(profiling);
  }
  [[nodiscard]] Result<std::unique_ptr<PreparedLaunch>> Prepare(const Launch& launch) override {
    return device_.Prepare(launch);
  }
  [[nodiscard]] std::int64_t clock_uncertainty_ns() const override { return 0; }

 private:
  Device& device_;
  DeviceInfo info_;
};

TEST(Gemm, GpuKernelMatchesReference) {
  std::string why;
  Device* device = TestDevice("opencl", &why);
  if (device == nullptr) {
    GTEST_SKIP() << why;
  }
  PretendedGpu gpu(*device);
  CallRunner runner(gpu);
  int compared = 0;
  for (const std::unique_ptr<Kernel>& kernel : KernelRegistry::Builtin().all()) {
    const bool uses_gemm = kernel->name() == "gemm" || kernel->name() == "attention" ||
                           kernel->name() == "convolution";
    for (const OpCall& call : uses_gemm ? kernel->Samples() : std::vector<OpCall>()) {
      // Other types differ in their loads alone, and each takes the compiler seconds.
      if (call.OutputTensor(0) == nullptr || call.OutputTensor(0)->dtype != DType::kFloat32) {
        continue;
      }
      SCOPED_TRACE(Describe(call));
      CallMemory expected(call);
      ASSERT_TRUE(kernel->Reference(call, expected));
      CallMemory actual(call);
      const Status run = runner.Run(*kernel, call, actual);
      ASSERT_TRUE(run) << run.error().message;
      EXPECT_EQ(Difference(actual, expected, kernel->tolerance()), "");
      ++compared;
    }
  }
  EXPECT_GT(compared, 0);
}

}  // namespace
}  // namespace reprise
