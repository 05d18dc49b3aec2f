// The GPU's shape of the matrix product, on whatever device there is.
#include <gtest/gtest.h>

#include "kernels/ops/products/gemm_tiles.h"
#include "tests/kernels/harness.h"
#include "tests/kernels/pretended_gpu.h"
#include "tests/skip.h"

namespace reprise {
namespace {

TEST(Gemm, GpuKernelMatchesReference) {
  std::string why;
  Device* device = TestDevice("opencl", &why);
  if (device == nullptr) {
    REPRISE_SKIP("opencl", why);
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
      EXPECT_EQ(Mismatch(runner, *kernel, call), "");
      ++compared;
    }
  }
  EXPECT_GT(compared, 0);
}

// Whatever block a tuning file may name, results are the same.
TEST(Gemm, EveryBlockOfTheCpuKernel) {
  std::string why;
  Device* device = TestDevice("opencl", &why);
  if (device == nullptr) {
    REPRISE_SKIP("opencl", why);
  }
  std::vector<GemmTile> blocks = GemmTileCandidates("gemm_cpu", DType::kFloat32);
  blocks.push_back({.n = 32, .k = 16});
  blocks.push_back({.n = 96, .k = 48});
  for (const GemmTile& block : blocks) {
    KernelTuning tuning;
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
      for (const char* layout : {"nn", "nt", "tn", "tt"}) {
        ASSERT_TRUE(CheckGemmTile("gemm_cpu", dtype, block));
        tuning.gemm.push_back({"gemm_cpu", dtype, layout, "small", block});
      }
    }
    TunedDevice tuned(*device, tuning);
    const Kernel* gemm = nullptr;
    for (const std::unique_ptr<Kernel>& kernel : KernelRegistry::Builtin().all()) {
      gemm = kernel->name() == "gemm" ? kernel.get() : gemm;
    }
    ASSERT_NE(gemm, nullptr);
    for (const OpCall& call : gemm->Samples()) {
      if (call.OutputTensor(0) == nullptr || (call.OutputTensor(0)->dtype != DType::kFloat32 &&
                                              call.OutputTensor(0)->dtype != DType::kBFloat16)) {
        continue;
      }
      SCOPED_TRACE(Describe(call) + " by blocks of " + std::to_string(block.n) + " x " +
                   std::to_string(block.k));
      CallMemory expected(call);
      ASSERT_TRUE(gemm->Reference(call, expected));
      CallMemory actual(call);
      const Status run = CallRunner(tuned).Run(*gemm, call, actual);
      ASSERT_TRUE(run) << run.error().message;
      EXPECT_EQ(Difference(actual, expected, gemm->tolerance()), "");
    }
  }
}

}  // namespace
}  // namespace reprise
