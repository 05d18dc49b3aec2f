// The CUDA backend with PyTorch's operators: on a GPU, or on the stand-ins for its driver and for
// PyTorch (tests/kernels/cuda_stand_in). REPRISE_TORCH_CUDA names libtorch_cuda.so, REPRISE_TORCH
// the libtorch_cpu.so that belongs to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "core/kernel_origin.h"
#include "kernels/backend.h"
#include "kernels/call_lowering.h"
#include "kernels/samples.h"
#include "tests/kernels/harness.h"
#include "tests/kernels/torch_samples.h"
#include "tests/skip.h"

namespace reprise {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kFloats = 1 << 16;
constexpr std::int64_t kBytes = 4 * kFloats;

TensorDesc Vector(std::int64_t incarnation) {
  samples::SampleTensors t;
  TensorDesc tensor = t.Tensor(DType::kFloat32, {kFloats});
  tensor.incarnation = incarnation;
  return tensor;
}

class CudaWithTorch : public testing::Test {
 protected:
  // Storages 0, 1, …, which may adopt results.
  class Storages : public Bindings {
   public:
    Storages(Device& device, int count) {
      for (int i = 0; i < count; ++i) {
        whole_.push_back(*device.Allocate(kBytes));
        aliases_.push_back(whole_.back()->Alias(/*only_tasks=*/true));
      }
    }
    [[nodiscard]] Buffer* Find(std::int64_t incarnation) const override {
      return aliases_.at(static_cast<std::size_t>(incarnation)).get();
    }

   private:
    std::vector<std::unique_ptr<Buffer>> whole_, aliases_;
  };

  void SetUp() override {
    const Backend* backend = FindBackend("cuda");
    if (const std::string why = backend->WhyNone(); !why.empty()) {
      REPRISE_SKIP("cuda", why);
    }
    const char* library = std::getenv("REPRISE_TORCH_CUDA");
    if (library == nullptr || std::getenv("REPRISE_TORCH") == nullptr) {
      REPRISE_SKIP("torch", "REPRISE_TORCH_CUDA or REPRISE_TORCH is not set");
    }
    library_ = library;
    auto device = OpenDevice({.backend = "cuda",
                              .cache_directory = REPRISE_BINARY_DIR "/test_program_cache",
                              .settings = {{"torch", library_}}});
    ASSERT_TRUE(device) << device.error().message;
    device_ = std::move(*device);
    if (const std::string why = WhyNoPrograms(*device_); !why.empty()) {
      REPRISE_SKIP("nvptx", why);
    }
  }

  // Lowered for the storages; the launches are kept.
  std::vector<PreparedLaunch*> Prepare(const Kernel& kernel, const OpCall& call,
                                       const Bindings& memory) {
    const LowerContext context{memory, device_->info(),
                               [](int, std::int64_t) -> Result<Buffer*> { return nullptr; }};
    std::vector<PreparedLaunch*> prepared;
    const auto launches = device_->lowering().Lower(kernel, call, context);
    EXPECT_TRUE(launches) << launches.error().message;
    for (const Launch& launch : *launches) {
      auto one = device_->Prepare(launch);
      EXPECT_TRUE(one) << one.error().message;
      prepared.push_back(launches_.emplace_back(std::move(*one)).get());
    }
    return prepared;
  }
  static void Enqueue(Stream& stream, const std::vector<PreparedLaunch*>& launches) {
    for (const PreparedLaunch* launch : launches) {
      const Status enqueued = stream.Enqueue(*launch);
      EXPECT_TRUE(enqueued) << enqueued.error().message;
    }
  }

  std::string library_;
  std::unique_ptr<Device> device_;
  std::vector<std::unique_ptr<PreparedLaunch>> launches_;
};

TEST_F(CudaWithTorch, SaysWhoseOperatorsRun) {
  EXPECT_THAT(device_->info().kernels, Not(HasSubstr(std::string(kOwnKernelsPrefix) + ",")));
  EXPECT_THAT(device_->info().kernels, HasSubstr("PyTorch's operators"));
  EXPECT_THAT(device_->info().driver, HasSubstr("PyTorch 2."));
  ASSERT_NE(device_->provider(), nullptr);
}

// By PyTorch where it takes them, by our programs where it refuses.
TEST_F(CudaWithTorch, SamplesAgreeWithTheReferences) {
  CallRunner runner(*device_);
  int taken = 0;
  for (const std::unique_ptr<Kernel>& kernel : KernelRegistry::Builtin().all()) {
    for (const OpCall& call : kernel->Samples()) {
      if (!device_->provider()->Takes(call) || HasAnotherMeaning(*kernel, call)) {
        continue;
      }
      SCOPED_TRACE(Describe(call));
      CallMemory expected(call);
      ASSERT_TRUE(kernel->Reference(call, expected));
      CallMemory actual(call);
      const Status ran = runner.Run(*kernel, call, actual);
      EXPECT_TRUE(ran) << ran.error().message;
      EXPECT_EQ(Difference(actual, expected, ToleranceOf(*kernel, call)), "");
      ++taken;
    }
  }
  EXPECT_GT(taken, 500);
}

// The second stream reads a result of the first, whose last user it is: the host frees it long
// before the stream has come so far.
TEST_F(CudaWithTorch, AResultOutlivesItsReadersOnOtherStreams) {
  const auto first = *device_->CreateStream(false);
  const auto second = *device_->CreateStream(true);
  const Storages memory(*device_, 5);
  const OpCall relu{"aten::relu", {Value{Vector(0)}}, {Value{Vector(1)}}};
  // By our program: it runs when the stream comes to it.
  const OpCall own{"aten::threshold_backward",
                   {Value{Vector(1)}, Value{Vector(1)}, samples::Double(0)},
                   {Value{Vector(2)}}};
  const OpCall again{"aten::relu", {Value{Vector(0)}}, {Value{Vector(3)}}};
  const OpCall reader{"aten::relu", {Value{Vector(3)}}, {Value{Vector(4)}}};
  const Kernel* kernel = FindBuiltinKernel(own);
  ASSERT_NE(kernel, nullptr);
  ASSERT_FALSE(device_->provider()->Takes(own));
  const Kernel& by_torch = *FindBuiltinKernel(relu);
  const auto make = Prepare(by_torch, relu, memory);
  const auto read = Prepare(*kernel, own, memory);
  const auto make_more = Prepare(by_torch, again, memory);
  const auto read_more = Prepare(by_torch, reader, memory);
  std::vector<float> values(kFloats);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i) - 1000;
  }
  for (int iteration = 0; iteration < 3; ++iteration) {
    ASSERT_TRUE(first->Upload(*memory.Find(0), 0, values.data(), kBytes));
    Enqueue(*first, make);
    ASSERT_TRUE(second->WaitFor({{*first->Record()}}));
    Enqueue(*second, read);
    Enqueue(*first, make_more);  // may get the memory of what was freed
    Enqueue(*first, read_more);
    std::vector<float> result(kFloats);
    ASSERT_TRUE(second->Download(result.data(), *memory.Find(2), 0, kBytes));
    ASSERT_TRUE(second->Finish());
    ASSERT_TRUE(first->Finish());
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(result[i], values[i] > 0 ? values[i] : 0) << i << " of " << iteration;
    }
    const auto times = second->TakeTimes();
    ASSERT_TRUE(times) << times.error().message;
    ASSERT_EQ(times->size(), read.size());
    for (const Stream::Times& time : *times) {
      EXPECT_LE(time.start_ns, time.end_ns);
    }
  }
}

TEST_F(CudaWithTorch, ALibraryOfAnotherDeviceIsRefused) {
  const auto device = OpenDevice({.backend = "cuda", .settings = {{"torch", "/none/libm.so.6"}}});
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().kind, ErrorKind::kEnvironment);
  EXPECT_THAT(device.error().message, HasSubstr("/none/libtorch_cuda.so"));
  EXPECT_THAT(FindBackend("cuda")->WhyNotChosen({{"torch", "/none/libtorch_cpu.so"}}),
              HasSubstr("/none/libtorch_cuda.so"));
  EXPECT_EQ(FindBackend("cuda")->WhyNotChosen({{"torch", library_}}), "");
  EXPECT_THAT(FindBackend("cuda")->WhyNotChosen({}), HasSubstr("no PyTorch"));
}

}  // namespace
}  // namespace reprise
