// gemm_mma.cl's arithmetic of indices, stages and fragments, with its instructions emulated.
#include <gtest/gtest.h>

#include <cstring>

#include "kernels/ops/products/gemm_tiles.h"
#include "kernels/samples.h"
#include "tests/kernels/harness.h"
#include "tests/kernels/pretended_gpu.h"
#include "tests/skip.h"

namespace reprise {
namespace {

using samples::Double, samples::Int, samples::SampleTensors;

constexpr const char* kEarly = " -DMMA_EARLY";

// `tile` for every product of the type.
KernelTuning Only(DType dtype, const GemmTile& tile) {
  KernelTuning tuning;
  tuning.allow_tf32 = true;
  for (const char* layout : {"nn", "nt", "tn", "tt"}) {
    tuning.gemm.push_back({"gemm_mma", dtype, layout, "small", tile});
  }
  return tuning;
}

// What TF32 has no bits for is not in the data, so that results are float32's.
void RoundToTf32(CallMemory& memory) {
  for (auto& [incarnation, storage] : memory.storages) {
    for (std::size_t i = 0; storage.dtype == DType::kFloat32 && i < storage.bytes.size(); i += 4) {
      std::uint32_t word = 0;
      std::memcpy(&word, &storage.bytes[i], 4);
      word &= 0xffffe000U;
      std::memcpy(&storage.bytes[i], &word, 4);
    }
  }
}

class GemmMma : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    device_ = TestDevice("opencl", &why);
    if (device_ == nullptr) {
      REPRISE_SKIP("opencl", why);
    }
  }

  // Against the Reference, on tensor cores or not at all.
  static void Compare(EmulatedTensorCores& gpu, const OpCall& call, int launches = 1) {
    SCOPED_TRACE(Describe(call));
    const Kernel* kernel = KernelRegistry::Builtin().Find(call);
    ASSERT_NE(kernel, nullptr);
    CallMemory expected(call);
    CallMemory actual(call);
    RoundToTf32(expected);
    RoundToTf32(actual);
    ASSERT_TRUE(kernel->Reference(call, expected));
    const int before = gpu.launches();
    const Status run = CallRunner(gpu).Run(*kernel, call, actual);
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_EQ(gpu.launches() - before, launches);
    EXPECT_EQ(Difference(actual, expected, kernel->tolerance()), "");
  }

  Device* device_ = nullptr;
};

struct MmaShape {
  std::int64_t m, n, k;
};

// A row-major ("n") or not, as nn.Linear's passes record them; rows `pad` apart, from element
// `offset` on.
OpCall Product(DType dtype, const MmaShape& s, std::string_view layout, std::int64_t pad = 0,
               std::int64_t offset = 0) {
  SampleTensors tensors;
  const auto matrix = [&](std::int64_t rows, std::int64_t columns, char order) {
    return order == 'n' ? tensors.Strided(dtype, {rows, columns}, {columns + pad, 1}, offset)
                        : tensors.Strided(dtype, {rows, columns}, {1, rows + pad}, offset);
  };
  const TensorDesc a = matrix(s.m, s.k, layout[0]);
  const TensorDesc b = matrix(s.k, s.n, layout[1]);
  return {"aten::mm", {Value{a}, Value{b}}, {Value{tensors.Tensor(dtype, {s.m, s.n})}}};
}

// Every tile that may be chosen, with edges in all directions; the first in every layout. Each
// combination is a program of its own, which takes the compiler seconds.
TEST_F(GemmMma, EveryTile) {
  constexpr const char* kLayouts[] = {"nt", "nn", "tn", "tt"};
  for (const DType dtype : {DType::kBFloat16, DType::kFloat32}) {
    const std::vector<GemmTile> tiles = GemmTileCandidates("gemm_mma", dtype);
    for (std::size_t i = 0; i < tiles.size() + 3; ++i) {
      const GemmTile& tile = tiles[i < tiles.size() ? i : 0];
      ASSERT_TRUE(CheckGemmTile("gemm_mma", dtype, tile));
      SCOPED_TRACE(::testing::Message() << tile.m << "x" << tile.n << "x" << tile.k << " "
                                        << tile.warp_m << "x" << tile.warp_n << " " << tile.stages);
      EmulatedTensorCores gpu(*device_);
      gpu.tuning() = Only(dtype, tile);
      const char* layout = kLayouts[(i < tiles.size() ? i : i - tiles.size() + 1) % 4];
      Compare(gpu, Product(dtype, {tile.m + 8, tile.n + 24, 5 * tile.k + 8}, layout));
    }
  }
}

TEST_F(GemmMma, RaggedAndUnaligned) {
  for (const DType dtype : {DType::kBFloat16, DType::kFloat16, DType::kFloat32}) {
    EmulatedTensorCores gpu(*device_);
    gpu.tuning().allow_tf32 = true;
    Compare(gpu, Product(dtype, {16, 16, 1}, "nn"));         // hardly anything
    Compare(gpu, Product(dtype, {67, 33, 29}, "nn"));        // odd rows: element by element
    Compare(gpu, Product(dtype, {66, 70, 34}, "nt"));        // 4 bytes at a time
    Compare(gpu, Product(dtype, {64, 64, 64}, "tn", 3));     // padded rows
    Compare(gpu, Product(dtype, {65, 64, 32}, "tt", 0, 2));  // offset
  }
}

// A copy done as early as it may be meets no reader of what was there before.
TEST_F(GemmMma, EarlyCopies) {
  EmulatedTensorCores gpu(*device_, kEarly);
  for (const GemmTile& tile :
       {GemmTile{128, 128, 32, 64, 64, 3}, GemmTile{64, 64, 32, 32, 32, 2}}) {
    ASSERT_TRUE(CheckGemmTile("gemm_mma", DType::kBFloat16, tile));
    gpu.tuning() = Only(DType::kBFloat16, tile);
    Compare(gpu, Product(DType::kBFloat16, {130, 136, 240}, "nt"));
  }
}

TEST_F(GemmMma, BatchesAddendsAndColumnMajorResults) {
  EmulatedTensorCores gpu(*device_);
  const DType t = DType::kBFloat16;
  SampleTensors s;
  const TensorDesc self = s.Tensor(t, {3, 72, 80});
  Compare(gpu, {"aten::baddbmm",
                {Value{self}, Value{s.Tensor(t, {3, 72, 40})}, Value{s.Tensor(t, {3, 40, 80})},
                 Double(2), Double(-0.5)},
                {Value{s.Tensor(t, {3, 72, 80})}}});
  Compare(gpu, {"aten::bmm",  // batch between the rows
                {Value{s.Strided(t, {3, 40, 32}, {32, 96, 1})}, Value{s.Tensor(t, {3, 32, 48})}},
                {Value{s.Strided(t, {3, 40, 48}, {48, 144, 1})}}});
  Compare(gpu, {"aten::addmm",  // a bias, a transposed weight, a result by columns
                {Value{s.Tensor(t, {56})}, Value{s.Tensor(t, {40, 64})},
                 Value{s.Strided(t, {64, 56}, {1, 64})}, Int(1), Int(1)},
                {Value{s.Strided(t, {40, 56}, {1, 40})}}});
  const TensorDesc odd = s.Tensor(t, {33, 35});  // rows of odd length: no pairs are stored
  Compare(gpu,
          {"aten::addmm_",
           {Value{odd}, Value{s.Tensor(t, {33, 48})}, Value{s.Tensor(t, {48, 35})}, Int(3), Int(1)},
           {Value{odd}}});
}

TEST_F(GemmMma, WhatItDoesNotTake) {
  EmulatedTensorCores gpu(*device_);
  Compare(gpu, Product(DType::kFloat32, {64, 64, 64}, "nn"), 0);  // TF32 was not allowed
  Compare(gpu, Product(DType::kBFloat16, {8, 64, 64}, "nn"), 0);  // a tile would stay empty
  SampleTensors s;
  const DType t = DType::kBFloat16;
  Compare(gpu,
          {"aten::mm",  // dense in no direction
           {Value{s.Strided(t, {32, 32}, {128, 2})}, Value{s.Tensor(t, {32, 32})}},
           {Value{s.Tensor(t, {32, 32})}}},
          0);
  PretendedGpu other(*device_);
  GemmProblem problem;
  EXPECT_FALSE(MmaLaunch(problem, other.info()));
  EXPECT_FALSE(MmaLaunch(problem, device_->info()));
}

// Attention takes its products apart by triangles, and batches them by heads.
TEST_F(GemmMma, SamplesOfItsUsers) {
  EmulatedTensorCores gpu(*device_);
  for (const std::unique_ptr<Kernel>& kernel : KernelRegistry::Builtin().all()) {
    const bool uses_gemm = kernel->name() == "gemm" || kernel->name() == "attention";
    for (const OpCall& call : uses_gemm ? kernel->Samples() : std::vector<OpCall>()) {
      if (call.OutputTensor(0) == nullptr || call.OutputTensor(0)->dtype != DType::kBFloat16) {
        continue;
      }
      SCOPED_TRACE(Describe(call));
      CallMemory expected(call);
      CallMemory actual(call);
      ASSERT_TRUE(kernel->Reference(call, expected));
      const Status run = CallRunner(gpu).Run(*kernel, call, actual);
      ASSERT_TRUE(run) << run.error().message;
      EXPECT_EQ(Difference(actual, expected, kernel->tolerance()), "");
    }
  }
  EXPECT_GT(gpu.launches(), 0);
}

TEST_F(GemmMma, TheCheckOfADevice) {
  const Status works = CheckTensorCores(*device_, kMmaEmulated);
  EXPECT_TRUE(works) << works.error().message;
  if (device_->info().tensor_cores) {
    EXPECT_TRUE(CheckTensorCores(*device_));
    return;
  }
  // Inline PTX is nothing that this device's compiler knows; a warning and other kernels follow.
  const Status fails = CheckTensorCores(*device_);
  ASSERT_FALSE(fails);
  EXPECT_NE(fails.error().message.find("gemm_mma.cl"), std::string::npos) << fails.error().message;
  EXPECT_FALSE(device_->info().tensor_cores);
  EXPECT_EQ(device_->info().compute_capability, 0);
}

TEST(GemmTiles, ImpossibleOnesSayWhy) {
  const auto why = [](DType dtype, const GemmTile& tile) {
    const Status status = CheckGemmTile("gemm_mma", dtype, tile);
    return status ? "" : status.error().message;
  };
  const DType t = DType::kBFloat16;
  EXPECT_EQ(why(t, {128, 128, 32, 64, 64, 3}), "");
  EXPECT_NE(why(t, {128, 128, 32, 64, 64, 4}).find("local memory"), std::string::npos);
  EXPECT_NE(why(t, {96, 128, 32, 32, 64, 2}).find("64, 128 or 256"), std::string::npos);
  EXPECT_NE(why(t, {128, 128, 16, 64, 64, 2}).find("k has to be 32 or 64"), std::string::npos);
  EXPECT_NE(why(t, {128, 256, 32, 128, 64, 2}).find("registers"), std::string::npos);
  EXPECT_NE(why(t, {128, 128, 32, 48, 64, 2}).find("divide m and n"), std::string::npos);
  EXPECT_NE(why(t, {128, 128, 32, 64, 64, 1}).find("2 to 5"), std::string::npos);
  EXPECT_NE(why(t, {256, 64, 32, 64, 64, 2}).find("evenly"), std::string::npos);
  EXPECT_NE(why(t, {128, 128, 32, 0, 0, 3}), "");
  EXPECT_NE(why(t, {128, 128, 32, -16, 64, 3}), "");
  EXPECT_NE(why(DType::kInt32, {128, 128, 16, 64, 64, 3}), "");
  EXPECT_TRUE(CheckGemmTile("gemm_cpu", t, {.n = 96, .k = 64}));
  EXPECT_FALSE(CheckGemmTile("gemm_cpu", t, {.n = 512, .k = 64}));
  EXPECT_FALSE(CheckGemmTile("gemm_cpu", t, {.n = 64, .k = 8}));
  EXPECT_FALSE(CheckGemmTile("gemm_cpu", t, {.m = 64, .n = 64, .k = 64}));
  EXPECT_FALSE(CheckGemmTile("gemm_tpu", t, {.n = 64, .k = 64}));
}

}  // namespace
}  // namespace reprise
