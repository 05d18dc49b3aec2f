// The stand-in driver refuses what a GPU's driver refuses, and runs work as late as one may.
#include "tests/kernels/cuda_stand_in/driver.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "kernels/device_lowering.h"
#include "tests/skip.h"

namespace cuda_stand_in {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StrEq;

using CudaStandIn = WithDriver;

constexpr std::uint32_t kPoisonWord = 0xA5A5A5A5;

TEST_F(CudaStandIn, NamesItsDevices) {
  std::array<char, 64> text{};
  EXPECT_EQ(Call("cuDeviceGetName", text.data(), static_cast<int>(text.size()), 0), kOk);
  EXPECT_THAT(text.data(), StrEq("Stand-in GPU"));
  EXPECT_EQ(Call("cuDeviceGetPCIBusId", text.data(), static_cast<int>(text.size()), 0), kOk);
  EXPECT_THAT(text.data(), StrEq("0000:01:00.0"));
  int major = 0;
  EXPECT_EQ(Call("cuDeviceGetAttribute", &major, int{kComputeCapabilityMajor}, 0), kOk);
  EXPECT_EQ(major, 8);
  EXPECT_EQ(Call("cuDeviceGetAttribute", &major, 12345, 0), kInvalidValue);
  EXPECT_EQ(Call("cuDeviceGetName", text.data(), static_cast<int>(text.size()), 1), kInvalidDevice);
  const char* name = nullptr;
  EXPECT_EQ(Call("cuGetErrorName", 700, &name), kOk);
  EXPECT_THAT(name, StrEq("CUDA_ERROR_ILLEGAL_ADDRESS"));
}

TEST_F(CudaStandIn, NeedsAContextOnEachThread) {
  std::thread([] {
    DevicePointer address = 0;
    EXPECT_EQ(Call("cuMemAlloc_v2", &address, std::size_t{64}), kInvalidContext);
    EXPECT_EQ(Call("cuCtxSynchronize"), kInvalidContext);
  }).join();
  EXPECT_EQ(Call("cuCtxSynchronize"), kOk);
}

TEST_F(CudaStandIn, GivesMemoryThatIsPoisoned) {
  void* const stream = NewStream();
  EXPECT_THAT(Read<std::uint32_t>(NewMemory(64), 16, stream), Each(kPoisonWord));
}

TEST_F(CudaStandIn, RefusesFreedAndTooSmallAndUnknownMemory) {
  const auto fails = [&](DevicePointer address, std::size_t bytes) {
    void* const stream = NewStream();
    EXPECT_EQ(Call("cuMemsetD8Async", address, static_cast<unsigned char>(1), bytes, stream), kOk);
    return Synchronize(stream);
  };
  DevicePointer address = NewMemory(100);
  EXPECT_EQ(fails(address, 100), kOk);
  EXPECT_EQ(fails(address, 101), kIllegalAddress);
  // Everything fails from now on, until the context is released.
  EXPECT_EQ(Call("cuMemAlloc_v2", &address, std::size_t{64}), kIllegalAddress);
  TearDown();
  SetUp();
  address = NewMemory(100);
  EXPECT_EQ(Call("cuMemFree_v2", address), kOk);
  EXPECT_EQ(Call("cuMemFree_v2", address), kInvalidValue);
  EXPECT_EQ(fails(address, 100), kIllegalAddress);
  TearDown();
  SetUp();
  EXPECT_EQ(fails(0x1000, 1), kIllegalAddress);
}

TEST_F(CudaStandIn, ReadsHostMemoryWhenACopyRuns) {
  void* const stream = NewStream();
  const DevicePointer device = NewMemory(4);
  std::uint32_t value = 1;
  ASSERT_EQ(Upload(device, &value, 4, stream), kOk);
  value = 2;  // too early for the copy
  EXPECT_THAT(Read<std::uint32_t>(device, 1, stream), ElementsAre(2));
}

TEST_F(CudaStandIn, RunsStreamsInOrderOnlyWithAWait) {
  void* const writer = NewStream();
  void* const reader = NewStream();
  void* const event = NewEvent();
  const DevicePointer device = NewMemory(4);
  const std::uint32_t value = 7;
  ASSERT_EQ(Upload(device, &value, 4, writer), kOk);
  ASSERT_EQ(Call("cuEventRecord", event, writer), kOk);
  // Without a wait, the reader comes first.
  EXPECT_THAT(Read<std::uint32_t>(device, 1, reader), ElementsAre(kPoisonWord));
  ASSERT_EQ(Call("cuStreamWaitEvent", reader, event, 0U), kOk);
  EXPECT_THAT(Read<std::uint32_t>(device, 1, reader), ElementsAre(7));
}

TEST_F(CudaStandIn, WaitsForARecordAndNotForWhatFollowsIt) {
  void* const writer = NewStream();
  void* const reader = NewStream();
  void* const event = NewEvent();
  const DevicePointer device = NewMemory(4);
  const std::array<std::uint32_t, 2> values = {1, 2};
  ASSERT_EQ(Upload(device, values.data(), 4, writer), kOk);
  ASSERT_EQ(Call("cuEventRecord", event, writer), kOk);
  ASSERT_EQ(Call("cuStreamWaitEvent", reader, event, 0U), kOk);
  ASSERT_EQ(Upload(device, values.data() + 1, 4, writer), kOk);
  ASSERT_EQ(Call("cuEventRecord", event, writer), kOk);  // the wait keeps the record before
  EXPECT_THAT(Read<std::uint32_t>(device, 1, reader), ElementsAre(1));
  EXPECT_THAT(Read<std::uint32_t>(device, 1, writer), ElementsAre(2));
}

TEST_F(CudaStandIn, IsNotReadyWhenItIsFirstAsked) {
  void* const stream = NewStream();
  void* const event = NewEvent();
  EXPECT_EQ(Call("cuEventQuery", event), kOk);  // never recorded
  ASSERT_EQ(Call("cuEventRecord", event, stream), kOk);
  EXPECT_EQ(Call("cuEventQuery", event), kNotReady);
  EXPECT_EQ(Call("cuEventQuery", event), kOk);
  ASSERT_EQ(Call("cuEventRecord", event, stream), kOk);
  EXPECT_EQ(Call("cuStreamQuery", stream), kNotReady);
  EXPECT_EQ(Call("cuStreamQuery", stream), kOk);
}

TEST_F(CudaStandIn, MeasuresOnlyEventsWithTimesThatHaveRun) {
  void* const stream = NewStream();
  void* const from = NewEvent(0);
  void* const to = NewEvent(0);
  void* const without = NewEvent();
  float ms = -1;
  EXPECT_EQ(Call("cuEventElapsedTime", &ms, from, to), kInvalidHandle);  // not recorded
  for (void* event : {from, to, without}) {
    ASSERT_EQ(Call("cuEventRecord", event, stream), kOk);
  }
  EXPECT_EQ(Call("cuEventElapsedTime", &ms, from, to), kNotReady);
  ASSERT_EQ(Call("cuEventSynchronize", to), kOk);
  EXPECT_EQ(Call("cuEventElapsedTime", &ms, from, to), kOk);
  EXPECT_GE(ms, 0);
  EXPECT_LT(ms, 10'000);
  ASSERT_EQ(Synchronize(stream), kOk);
  EXPECT_EQ(Call("cuEventElapsedTime", &ms, from, without), kInvalidHandle);
}

TEST_F(CudaStandIn, RefusesHandlesThatWereDestroyed) {
  void* const stream = NewStream();
  void* const event = NewEvent();
  ASSERT_EQ(Call("cuStreamDestroy_v2", stream), kOk);
  ASSERT_EQ(Call("cuEventDestroy_v2", event), kOk);
  EXPECT_EQ(Synchronize(stream), kInvalidHandle);
  EXPECT_EQ(Call("cuEventQuery", event), kInvalidHandle);
  EXPECT_EQ(Call("cuEventRecord", event, NewStream()), kInvalidHandle);
}

TEST_F(CudaStandIn, FailsWhereItIsAskedTo) {
  DevicePointer address = 0;
  ASSERT_EQ(SetFault("alloc:2"), kOk);
  EXPECT_EQ(Call("cuMemAlloc_v2", &address, std::size_t{64}), kOk);
  EXPECT_EQ(Call("cuMemAlloc_v2", &address, std::size_t{64}), kOutOfMemory);
  EXPECT_EQ(Call("cuMemAlloc_v2", &address, std::size_t{64}), kOk);
  EXPECT_EQ(SetFault("init:803"), 803);
  EXPECT_EQ(SetFault("init"), kInvalidValue);
  EXPECT_EQ(SetFault("alloc:2x"), kInvalidValue);
  ASSERT_EQ(SetFault(""), kOk);
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  ASSERT_EQ(Call("cuMemGetInfo_v2", &free_bytes, &total_bytes), kOk);
  EXPECT_EQ(total_bytes - free_bytes, 128U);
  EXPECT_EQ(Call("cuMemAlloc_v2", &address, free_bytes + 1), kOutOfMemory);
}

// In a process of its own: the number of devices is read once.
TEST_F(CudaStandIn, KeepsDevicesApart) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto use_both = [] {
    const DevicePointer first = NewMemory(4);
    void* context = nullptr;
    EXPECT_EQ(Call("cuDevicePrimaryCtxRetain", &context, 1), kOk);
    EXPECT_EQ(Call("cuCtxSetCurrent", context), kOk);
    void* const stream = NewStream();
    const DevicePointer second = NewMemory(4);
    EXPECT_EQ(Call("cuMemsetD32Async", second, 1U, std::size_t{1}, stream), kOk);
    EXPECT_EQ(Synchronize(stream), kOk);
    EXPECT_EQ(Call("cuMemsetD32Async", first, 1U, std::size_t{1}, stream), kOk);
    EXPECT_EQ(Synchronize(stream), kIllegalAddress);
    std::_Exit(HasFailure() ? 1 : 0);
  };
  setenv("REPRISE_STAND_IN_DEVICES", "2", 1);
  EXPECT_EXIT(use_both(), testing::ExitedWithCode(0), "memory of device 0, and this is device 1");
  unsetenv("REPRISE_STAND_IN_DEVICES");
}

TEST_F(CudaStandIn, SeesWhatWasWrittenBehindAnAllocation) {
  const DevicePointer address = NewMemory(100);
  *std::bit_cast<char*>(address + 100) = 1;
  EXPECT_EQ(Call("cuMemFree_v2", address), kIllegalAddress);
}

TEST_F(CudaStandIn, RunsWhatIsQueuedBeforeMemoryIsFreed) {
  void* const stream = NewStream();
  const DevicePointer address = NewMemory(4);
  std::uint32_t value = 0;
  ASSERT_EQ(Call("cuMemsetD32Async", address, 5U, std::size_t{1}, stream), kOk);
  ASSERT_EQ(Download(&value, address, 4, stream), kOk);
  EXPECT_EQ(value, 0U);
  ASSERT_EQ(Call("cuMemFree_v2", address), kOk);
  EXPECT_EQ(value, 5U);
}

TEST(CudaStandInIncomplete, LacksAFunction) {
  const OpenedLibrary incomplete(STAND_IN_CUDA_INCOMPLETE);
  EXPECT_NE(incomplete.Find<int(unsigned)>("cuInit"), nullptr);
  EXPECT_EQ(incomplete.Find<int(float*, void*, void*)>("cuEventElapsedTime"), nullptr);
}

// A lost device stays lost: a process of its own.
TEST_F(CudaStandIn, LosesItsDeviceForGood) {
  const auto lose = [] {
    SetFault("lost:2:46");
    void* const stream = NewStream();
    const DevicePointer address = NewMemory(4);
    for (int i = 0; i < 2; ++i) {
      Call("cuMemsetD8Async", address, static_cast<unsigned char>(1), std::size_t{1}, stream);
    }
    const bool is_lost = Synchronize(stream) == kDeviceUnavailable;
    Call("cuDevicePrimaryCtxRelease_v2", 0);
    void* context = nullptr;
    std::_Exit(is_lost && Call("cuDevicePrimaryCtxRetain", &context, 0) == kDeviceUnavailable ? 0
                                                                                              : 1);
  };
  EXPECT_EXIT(lose(), testing::ExitedWithCode(0), "the device is lost");
}

class CudaStandInKernels : public WithDriver {
 protected:
  static constexpr const char* kOptions =
      " -cl-std=CL1.2 -DDEVICE_IS_CPU=0 -DHAVE_FP64=1 -DHAVE_FP16=0 -DT=";

  void SetUp() override {
    WithDriver::SetUp();
    void* module = nullptr;
    if (Load("fill.cl", "float32", module) != kOk) {
      REPRISE_SKIP("opencl", "no program compiles: the stand-in's line above says why");
    }
  }
  static int Load(const std::string& program, const std::string& type, void*& module) {
    const std::string image = "// reprise: " + program + kOptions + type + "\n.version 8.0\n";
    return Call("cuModuleLoadDataEx", &module, static_cast<const void*>(image.c_str()), 0U,
                static_cast<int*>(nullptr), static_cast<void**>(nullptr));
  }
  static void* FunctionOf(const std::string& program, const std::string& type, const char* name) {
    void* module = nullptr;
    void* function = nullptr;
    EXPECT_EQ(Load(program, type, module), kOk);
    EXPECT_EQ(Call("cuModuleGetFunction", &function, module, name), kOk);
    return function;
  }
  template <typename... Arguments>
  static int Launch(void* function, unsigned blocks, unsigned threads, void* stream,
                    Arguments... arguments) {
    std::array<void*, sizeof...(Arguments)> words = {&arguments...};
    return Call("cuLaunchKernel", function, blocks, 1U, 1U, threads, 1U, 1U, 0U, stream,
                words.data(), static_cast<void**>(nullptr));
  }
  // sequence_real of fill.cl: start + i × step.
  static int Sequence(DevicePointer out, std::int64_t count, void* stream, unsigned threads = 64) {
    void* const function = FunctionOf("fill.cl", "float32", "sequence_real");
    return Launch(function, 2, threads, stream, out, std::int64_t{1}, count, 3.0F, 0.5F);
  }
};

TEST_F(CudaStandInKernels, ComputeWhatTheyShould) {
  void* const stream = NewStream();
  const DevicePointer out = NewMemory(6 * sizeof(float));
  ASSERT_EQ(Sequence(out, 4, stream), kOk);
  float poison = 0;
  std::memcpy(&poison, &kPoisonWord, sizeof(poison));
  EXPECT_THAT(Read<float>(out, 6, stream), ElementsAre(poison, 3.0F, 3.5F, 4.0F, 4.5F, poison));
}

// A struct by value: its size is the compiler's.
TEST_F(CudaStandInKernels, TakeStructs) {
  void* const stream = NewStream();
  const std::array<std::uint32_t, 6> values = {0, 1, 2, 3, 4, 5};
  const DevicePointer from = NewMemory(sizeof(values));
  const DevicePointer to = NewMemory(sizeof(values));
  ASSERT_EQ(Upload(from, values.data(), sizeof(values), stream), kOk);
  // 2 × 3, transposed.
  const reprise::IndexSpace space = {
      .count = 6, .dims = 2, .shape = {3, 2}, .strides = {{{1, 3}, {2, 1}}}};
  ASSERT_EQ(Launch(FunctionOf("repack.cl", "uint", "repack"), 1, 32, stream, from, to, space), kOk);
  EXPECT_THAT(Read<std::uint32_t>(to, 6, stream), ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST_F(CudaStandInKernels, RefuseWhatIsNoProgramOrNoFunction) {
  void* module = nullptr;
  EXPECT_EQ(Load("none.cl", "float32", module), kInvalidPtx);
  EXPECT_EQ(Load("fill.cl", "no_type", module), kInvalidPtx);
  std::array<char, 512> log{};
  std::array<int, 2> options = {kJitErrorLog, kJitErrorLogBytes};
  std::array<void*, 2> values = {log.data(), std::bit_cast<void*>(log.size())};
  EXPECT_EQ(Call("cuModuleLoadDataEx", &module, static_cast<const void*>(".version 8.0\n"), 2U,
                 options.data(), values.data()),
            kInvalidPtx);
  EXPECT_THAT(log.data(), HasSubstr("first line"));
  ASSERT_EQ(Load("fill.cl", "float32", module), kOk);
  void* function = nullptr;
  EXPECT_EQ(Call("cuModuleGetFunction", &function, module, "none"), kNotFound);
}

TEST_F(CudaStandInKernels, RefuseGridsThatNoDeviceHas) {
  void* const stream = NewStream();
  const DevicePointer out = NewMemory(64);
  EXPECT_EQ(Sequence(out, 4, stream, 1025), kInvalidValue);
  EXPECT_EQ(Sequence(out, 4, stream, 0), kInvalidValue);
}

TEST_F(CudaStandInKernels, RefuseFreedMemoryAndAddressesWithinAnAllocation) {
  void* stream = NewStream();
  EXPECT_EQ(Sequence(NewMemory(64) + 4, 4, stream), kOk);
  EXPECT_EQ(Synchronize(stream), kIllegalAddress);
  TearDown();
  SetUp();
  stream = NewStream();
  const DevicePointer out = NewMemory(64);
  ASSERT_EQ(Call("cuMemFree_v2", out), kOk);
  EXPECT_EQ(Sequence(out, 4, stream), kOk);
  EXPECT_EQ(Synchronize(stream), kIllegalAddress);
}

TEST_F(CudaStandInKernels, FailWhereTheyAreAskedTo) {
  ASSERT_EQ(SetFault("launch:2"), kOk);
  void* const stream = NewStream();
  const DevicePointer out = NewMemory(64);
  ASSERT_EQ(Sequence(out, 4, stream), kOk);
  ASSERT_EQ(Sequence(out, 4, stream), kOk);
  EXPECT_EQ(Synchronize(stream), kLaunchFailed);
  EXPECT_EQ(Call("cuCtxSynchronize"), kLaunchFailed);
}

TEST_F(CudaStandInKernels, AreLoggedWhenTheyRun) {
  const std::string path = testing::TempDir() + "stand_in_log_" + std::to_string(getpid());
  setenv("REPRISE_STAND_IN_LOG", path.c_str(), 1);
  const auto log = [&] {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  void* const stream = NewStream();
  ASSERT_EQ(Sequence(NewMemory(64), 4, stream), kOk);
  ASSERT_EQ(Call("cuEventRecord", NewEvent(), stream), kOk);
  EXPECT_EQ(log(), "");
  ASSERT_EQ(Synchronize(stream), kOk);
  EXPECT_THAT(log(), AllOf(HasSubstr("kernel sequence_real grid 2x1x1 block 64x1x1 0x"),
                           HasSubstr(":64\n"), HasSubstr("record event")));
  unsetenv("REPRISE_STAND_IN_LOG");
  unlink(path.c_str());
}

}  // namespace
}  // namespace cuda_stand_in
