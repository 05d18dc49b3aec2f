// The stand-in of PyTorch's CUDA library: behind the stream, on one device, with results that are
// lost with their handles. REPRISE_TORCH names the real library that computes.
#include <gmock/gmock.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <string>

#include "core/operator_table.h"
#include "kernels/torch/torch_operators.h"
#include "tests/kernels/cuda_stand_in/driver.h"
#include "tests/skip.h"

namespace cuda_stand_in {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

const OpenedLibrary& Torch() {
  static const OpenedLibrary torch(STAND_IN_TORCH_CUDA);
  return torch;
}

std::string What() {
  return Torch().Find<const char*()>("torch_exception_get_what_without_backtrace")();
}

class TorchCudaStandIn : public WithDriver {
 protected:
  void SetUp() override {
    WithDriver::SetUp();
    if (std::getenv("REPRISE_TORCH") == nullptr) {
      REPRISE_SKIP("torch", "REPRISE_TORCH is not set");
    }
    stream_ = NewStream();
    memory_ = NewMemory(kBytes);
    ASSERT_EQ(Torch()("aoti_torch_create_cuda_stream_guard", stream_, 0, &guard_), 0) << What();
  }
  void TearDown() override {
    if (guard_ != nullptr) {
      EXPECT_EQ(Torch()("aoti_torch_delete_cuda_stream_guard", guard_), 0);
    }
    unsetenv("REPRISE_STAND_IN_TORCH_FAULT");
    WithDriver::TearDown();
  }

  // Four floats of the memory, or one without dimensions, on device `index` or the CPU.
  static void* Wrap(void* memory, int device_type, int index = 0, std::int64_t dim = 1) {
    void* made = nullptr;
    const std::int64_t size = 4;
    const std::int64_t stride = 1;
    const int code = Torch()(
        "aoti_torch_create_tensor_from_blob", memory, dim, &size, &stride, std::int64_t{0},
        Torch().Find<std::int32_t()>("aoti_torch_dtype_float32")(), device_type, index, &made);
    return code == 0 ? made : nullptr;
  }
  void* Wrap() { return Wrap(std::bit_cast<void*>(memory_), 1); }
  // The operator of one tensor, whose handle it takes; null where it fails.
  static void* Unary(const char* name, void* tensor) {
    std::array<std::uint64_t, 8> stack = {reinterpret_cast<std::uint64_t>(tensor)};
    const int code =
        Torch()("torch_call_dispatcher", name, "", stack.data(), std::uint64_t{0x020a} << 48);
    return code == 0 ? std::bit_cast<void*>(stack[0]) : nullptr;
  }
  static void* Add(void* a, void* b) {
    void* made = nullptr;
    return Torch()("aoti_torch_cuda_add_Tensor", a, b, 2.0, &made) == 0 ? made : nullptr;
  }
  static DevicePointer DataOf(void* tensor) {
    void* data = nullptr;
    EXPECT_EQ(Torch()("aoti_torch_get_data_ptr", tensor, &data), 0);
    return reinterpret_cast<DevicePointer>(data);
  }
  static void Delete(void* tensor) {
    EXPECT_EQ(Torch()("aoti_torch_delete_tensor_object", tensor), 0);
  }
  void QueueUpload() { ASSERT_EQ(Upload(memory_, kValues.data(), kBytes, stream_), kOk); }

  static constexpr std::array<float, 4> kValues = {-1, 2, -3, 4};
  static constexpr std::size_t kBytes = sizeof(kValues);
  void* stream_ = nullptr;
  void* guard_ = nullptr;
  DevicePointer memory_ = 0;
};

TEST_F(TorchCudaStandIn, HasEachFunctionOfTheSignatures) {
  int count = 0;
  for (const reprise::OperatorRow& row : reprise::OperatorRows()) {
    const auto operators = reprise::ParseTorchSignature(row.name, row.signature);
    ASSERT_TRUE(operators) << row.name;
    for (const reprise::TorchOperator& op : *operators) {
      if (op.form != reprise::TorchForm::kDispatched && op.device != "cpu") {
        EXPECT_NE(Torch().Find<int()>(("aoti_torch_cuda_" + op.overload).c_str()), nullptr)
            << op.overload;
        ++count;
      }
    }
  }
  EXPECT_GT(count, 3);
}

TEST_F(TorchCudaStandIn, HasWhatTheProgramLooksFor) {
  const auto opened = reprise::TorchLibrary::Open(STAND_IN_TORCH_CUDA, {"cuda", 0});
  ASSERT_TRUE(opened) << opened.error().message;
  const auto real = reprise::TorchLibrary::Open(std::getenv("REPRISE_TORCH"), {});
  ASSERT_TRUE(real) << real.error().message;
  for (int type = 0; type < 16; ++type) {
    EXPECT_EQ((*opened)->Word(static_cast<reprise::DType>(type)),
              (*real)->Word(static_cast<reprise::DType>(type)));
  }
}

TEST_F(TorchCudaStandIn, ComputesBehindItsStream) {
  QueueUpload();
  void* const result = Unary("aten::relu", Wrap());
  ASSERT_NE(result, nullptr) << What();
  EXPECT_THAT(Read<float>(DataOf(result), 4, stream_), ElementsAre(0, 2, 0, 4));
  std::int32_t type = 0;
  EXPECT_EQ(Torch()("aoti_torch_get_device_type", result, &type), 0);
  EXPECT_EQ(type, 1);
  Delete(result);
}

TEST_F(TorchCudaStandIn, ComputesTooEarlyOnAnotherStream) {
  QueueUpload();
  void* inner = nullptr;
  ASSERT_EQ(Torch()("aoti_torch_create_cuda_stream_guard", NewStream(), 0, &inner), 0);
  void* const result = Unary("aten::neg", Wrap());
  ASSERT_NE(result, nullptr) << What();
  const auto* const values = std::bit_cast<const std::uint32_t*>(DataOf(result));
  EXPECT_EQ(values[0], 0x25A5A5A5U);  // of poison
  Delete(result);
  EXPECT_NE(Torch()("aoti_torch_delete_cuda_stream_guard", guard_), 0);  // not the innermost
  EXPECT_EQ(Torch()("aoti_torch_delete_cuda_stream_guard", inner), 0);
}

TEST_F(TorchCudaStandIn, LosesAResultWithItsLastHandle) {
  QueueUpload();
  void* const result = Unary("aten::relu", Wrap());
  ASSERT_NE(result, nullptr) << What();
  void* second = nullptr;
  ASSERT_EQ(Torch()("aoti_torch_new_tensor_handle", result, &second), 0);
  const DevicePointer data = DataOf(result);
  Delete(result);
  // What its stream has to do first still finds it; another stream comes too late without a wait.
  void* const late = NewStream();
  std::array<float, 4> values{};
  std::array<float, 4> late_values{};
  ASSERT_EQ(Download(values.data(), data, kBytes, stream_), kOk);
  ASSERT_EQ(Download(late_values.data(), data, kBytes, late), kOk);
  Delete(second);
  EXPECT_EQ(Synchronize(stream_), kOk);
  EXPECT_THAT(values, ElementsAre(0, 2, 0, 4));
  EXPECT_EQ(Synchronize(late), kIllegalAddress);
}

TEST_F(TorchCudaStandIn, LeavesAResultInItsArgument) {
  QueueUpload();
  void* const result = Unary("aten::relu_", Wrap());
  ASSERT_NE(result, nullptr) << What();
  EXPECT_EQ(DataOf(result), memory_);
  EXPECT_THAT(Read<float>(memory_, 4, stream_), ElementsAre(0, 2, 0, 4));
  Delete(result);
}

TEST_F(TorchCudaStandIn, RefusesTensorsOfTwoDevices) {
  QueueUpload();
  std::array<float, 4> host = {1, 1, 1, 1};
  void* const device = Wrap();
  void* const cpu = Wrap(host.data(), 0);
  EXPECT_EQ(Add(device, cpu), nullptr);
  EXPECT_THAT(What(), HasSubstr("cuda:0 and cpu"));
  // A number in a tensor is no tensor of another device.
  void* const number = Wrap(host.data(), 0, 0, 0);
  void* const result = Add(device, number);
  ASSERT_NE(result, nullptr) << What();
  EXPECT_THAT(Read<float>(DataOf(result), 4, stream_), ElementsAre(1, 4, -1, 6));
  for (void* tensor : {device, cpu, number, result}) {
    Delete(tensor);
  }
  EXPECT_EQ(Wrap(host.data(), 1, 1), nullptr);
  EXPECT_THAT(What(), HasSubstr("there are 1 CUDA devices"));
}

TEST_F(TorchCudaStandIn, RefusesFreedArgumentsAndMemoryOfTheHost) {
  std::array<float, 4> host{};
  EXPECT_EQ(Unary("aten::relu", Wrap(host.data(), 1)), nullptr);
  EXPECT_THAT(What(), HasSubstr("CUDA error 700"));
  EXPECT_EQ(Synchronize(stream_), kIllegalAddress);
}

TEST_F(TorchCudaStandIn, FailsWhereItIsAskedTo) {
  setenv("REPRISE_STAND_IN_TORCH_FAULT", "aten::relu", 1);
  EXPECT_EQ(Unary("aten::relu", Wrap()), nullptr);
  EXPECT_THAT(What(), HasSubstr("aten::relu fails"));
  void* const result = Unary("aten::neg", Wrap());
  ASSERT_NE(result, nullptr) << What();
  Delete(result);
  EXPECT_EQ(Unary("aten::no_such_operator", Wrap()), nullptr);
  EXPECT_THAT(What(), HasSubstr("core/operators"));
}

TEST_F(TorchCudaStandIn, MakesEmptyTensorsOfPoison) {
  void* made = nullptr;
  const std::int64_t size = 4;
  const std::int64_t stride = 1;
  ASSERT_EQ(Torch()("aoti_torch_empty_strided", std::int64_t{1}, &size, &stride,
                    Torch().Find<std::int32_t()>("aoti_torch_dtype_int32")(), 1, 0, &made),
            0)
      << What();
  EXPECT_THAT(Read<std::uint32_t>(DataOf(made), 4, stream_), Each(0xA5A5A5A5U));
  Delete(made);
}

// In a process of its own: the library opens the real one once.
TEST(TorchCudaStandInAlone, SaysThatItNeedsTheRealLibrary) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto ask = [] {
    unsetenv("REPRISE_TORCH");
    std::uint32_t threads = 0;
    const bool fails = Torch()("torch_get_num_threads", &threads) != 0;
    std::_Exit(fails && What().find("REPRISE_TORCH") != std::string::npos ? 0 : 1);
  };
  EXPECT_EXIT(ask(), testing::ExitedWithCode(0),
              "REPRISE_TORCH is not set; it names the real libtorch_cpu.so");
}

}  // namespace
}  // namespace cuda_stand_in
