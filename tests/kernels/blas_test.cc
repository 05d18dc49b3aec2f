// --blas: another library's products in place of oneDNN's. tests/kernels/stand_ins/blas.cc is one.
#include "kernels/cpu/blas.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/host/host_device.h"
#include "tests/kernels/harness.h"

namespace reprise {
namespace {

using testing::HasSubstr;

class BlasLibrary : public testing::Test {
 protected:
  // What the stand-in says of itself.
  static int Ask(const char* function) {
    void* library = dlopen(STAND_IN_BLAS, RTLD_NOW);
    auto* const ask = reinterpret_cast<int (*)()>(dlsym(library, function));
    return ask == nullptr ? -1 : ask();
  }
};

TEST_F(BlasLibrary, ComputesTheHostBackendsProducts) {
  const auto device = OpenHostDevice({{kBlasSetting, STAND_IN_BLAS}});
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_THAT((*device)->info().driver, testing::StartsWith("stand-in 1.0 (/"));
  CallRunner runner(**device);
  int floats = 0;
  for (const std::unique_ptr<Kernel>& kernel : KernelRegistry::Builtin().all()) {
    if (kernel->name() != "gemm") {
      continue;
    }
    for (const OpCall& call : kernel->Samples()) {
      SCOPED_TRACE(Describe(call));
      const TensorDesc& result = *call.OutputTensor(0);
      const int before = Ask("stand_in_calls");
      EXPECT_EQ(Mismatch(runner, *kernel, call), "");
      const bool by_blas = result.dtype == DType::kFloat32 && ElementCount(result.shape) > 0 &&
                           call.InputTensor(0)->shape.back() != 0;
      if (by_blas) {
        ++floats;
        EXPECT_GT(Ask("stand_in_calls"), before);
        EXPECT_EQ(Ask("stand_in_threads"), 1);
      }
    }
  }
  EXPECT_GT(floats, 10);
}

TEST_F(BlasLibrary, LeavesWhatItCannotCount) {
  const auto blas = Blas::Open(STAND_IN_BLAS);
  ASSERT_TRUE(blas);
  const float one = 1;
  float result = 0;
  EXPECT_FALSE((*blas)->Multiply(1, 1, 1, 1, {&one, 'N', std::int64_t{1} << 31}, {&one, 'N', 1}, 0,
                                 &result, 1, true));
  EXPECT_TRUE((*blas)->Multiply(1, 1, 1, 3, {&one, 'N', 1}, {&one, 'T', 1}, 0, &result, 1, true));
  EXPECT_EQ(result, 3);
}

TEST_F(BlasLibrary, SaysWhatIsWrongWithALibrary) {
  const auto absent = Blas::Open("/nowhere/libblas.so");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().kind, ErrorKind::kEnvironment);
  EXPECT_THAT(absent.error().message, HasSubstr("/nowhere/libblas.so"));
  const auto other = Blas::Open("libm.so.6");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("libm.so.6 has no sgemm_"));
}

}  // namespace
}  // namespace reprise
