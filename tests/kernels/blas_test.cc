// --blas: another library's products in place of oneDNN's. tests/kernels/stand_ins/blas.cc is one.
#include "kernels/cpu/blas.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kernels/harness.h"

namespace reprise {
namespace {

using testing::HasSubstr;

class Blas : public testing::Test {
 protected:
  void TearDown() override { ASSERT_TRUE(UseBlas("")); }

  // What the stand-in says of itself.
  static int Ask(const char* function) {
    void* library = dlopen(STAND_IN_BLAS, RTLD_NOW);
    auto* const ask = reinterpret_cast<int (*)()>(dlsym(library, function));
    return ask == nullptr ? -1 : ask();
  }
};

TEST_F(Blas, ComputesTheHostBackendsProducts) {
  std::string why;
  Device* device = TestDevice("host", &why);
  ASSERT_NE(device, nullptr) << why;
  const auto used = UseBlas(STAND_IN_BLAS);
  ASSERT_TRUE(used) << used.error().message;
  EXPECT_THAT(BlasInUse(), testing::StartsWith("stand-in 1.0 (/"));
  CallRunner runner(*device);
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

TEST_F(Blas, LeavesWhatItCannotCount) {
  ASSERT_TRUE(UseBlas(STAND_IN_BLAS));
  const float one = 1;
  float result = 0;
  EXPECT_FALSE(MultiplyByBlas(1, 1, 1, 1, {&one, 'N', std::int64_t{1} << 31}, {&one, 'N', 1}, 0,
                              &result, 1, true));
  EXPECT_TRUE(MultiplyByBlas(1, 1, 1, 3, {&one, 'N', 1}, {&one, 'T', 1}, 0, &result, 1, true));
  EXPECT_EQ(result, 3);
  ASSERT_TRUE(UseBlas(""));
  EXPECT_EQ(BlasInUse(), "");
  EXPECT_FALSE(MultiplyByBlas(1, 1, 1, 1, {&one, 'N', 1}, {&one, 'N', 1}, 0, &result, 1, true));
}

TEST_F(Blas, SaysWhatIsWrongWithALibrary) {
  const auto absent = UseBlas("/nowhere/libblas.so");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().kind, ErrorKind::kEnvironment);
  EXPECT_THAT(absent.error().message, HasSubstr("/nowhere/libblas.so"));
  const auto other = UseBlas("libm.so.6");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("libm.so.6 has no sgemm_"));
}

}  // namespace
}  // namespace reprise
