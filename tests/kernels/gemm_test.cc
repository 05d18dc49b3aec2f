// The GPU's shape of the matrix product, on whatever device there is.
#include <gtest/gtest.h>

#include "tests/kernels/harness.h"
#include "tests/kernels/pretended_gpu.h"

namespace reprise {
namespace {

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
