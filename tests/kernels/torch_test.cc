// --torch: PyTorch's operators in place of ours. tests/kernels/stand_ins/torch.cc stands in for it;
// with REPRISE_TORCH=…/libtorch_cpu.so in the environment the real one is held against References.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "kernels/host/host_baselines.h"
#include "kernels/host/host_buffer.h"
#include "kernels/host/host_device.h"
#include "kernels/host/host_lowering.h"
#include "kernels/host/host_stream.h"
#include "kernels/samples.h"
#include "kernels/torch/torch_baseline.h"
#include "kernels/torch/torch_provider.h"
#include "tests/kernels/harness.h"
#include "tests/kernels/torch_samples.h"
#include "tests/skip.h"

namespace reprise {
namespace {

// As a stream runs it.
Status RunOf(const HostTask& task) {
  if (task.before) {
    task.before();
  }
  Status status = task.run();
  if (task.after) {
    task.after();
  }
  return status;
}

using testing::HasSubstr;

class Torch : public testing::Test {
 protected:
  // A device whose operators are those of the library, and the provider for itself.
  void Use(const std::string& path) {
    auto device = OpenHostDevice({{kTorchSetting, path}});
    ASSERT_TRUE(device) << device.error().message;
    device_ = std::move(*device);
    auto torch = TorchProvider::Open(path);
    ASSERT_TRUE(torch) << torch.error().message;
    torch_ = std::move(*torch);
  }

  // What the stand-in says of itself.
  static int Ask(const char* function) {
    void* library = dlopen(STAND_IN_TORCH, RTLD_NOW);
    auto* const ask = reinterpret_cast<int (*)()>(dlsym(library, function));
    return ask == nullptr ? -1 : ask();
  }

  std::unique_ptr<Device> device_;
  std::shared_ptr<const TorchProvider> torch_;
};

// One storage each, of `floats` numbers, which may be adopted.
class Aliases : public Bindings {
 public:
  explicit Aliases(std::int64_t floats, bool only_tasks = false)
      : base_(*HostBuffer::Allocate(4 * floats, std::make_shared<FreshMemory>())),
        other_(*HostBuffer::Allocate(4 * floats, std::make_shared<FreshMemory>())) {
    aliases_.push_back(other_->Alias(only_tasks));
    for (int i = 0; i < 3; ++i) {
      aliases_.push_back(base_->Alias(only_tasks));
    }
  }
  [[nodiscard]] Buffer* Find(std::int64_t incarnation) const override {
    return aliases_.at(static_cast<std::size_t>(incarnation)).get();
  }
  [[nodiscard]] float* Floats(std::int64_t incarnation) const {
    return reinterpret_cast<float*>(Find(incarnation)->host_data());
  }

 private:
  std::unique_ptr<HostBuffer> base_, other_;
  std::vector<std::unique_ptr<Buffer>> aliases_;  // the first has a buffer for itself
};

// A call's storages in the host backend's memory.
class HostBuffers : public Bindings {
 public:
  explicit HostBuffers(const CallMemory& memory) {
    for (const auto& [incarnation, storage] : memory.storages) {
      const auto bytes = static_cast<std::int64_t>(storage.bytes.size());
      const auto& buffer = buffers_[incarnation] = *HostBuffer::Allocate(bytes, nullptr);
      std::copy(storage.bytes.begin(), storage.bytes.end(), buffer->host_data());
    }
  }
  [[nodiscard]] Buffer* Find(std::int64_t incarnation) const override {
    return buffers_.at(incarnation).get();
  }
  void CopyTo(CallMemory& memory) const {
    for (auto& [incarnation, storage] : memory.storages) {
      std::copy_n(Find(incarnation)->host_data(), storage.bytes.size(), storage.bytes.begin());
    }
  }

 private:
  std::map<std::int64_t, std::unique_ptr<HostBuffer>> buffers_;
};

TensorDesc FloatsIn(std::int64_t incarnation, std::int64_t count) {
  samples::SampleTensors t;
  TensorDesc tensor = t.Tensor(DType::kFloat32, {count});
  tensor.incarnation = incarnation;
  return tensor;
}

TEST_F(Torch, DoesTheOperatorsThatItHas) {
  Use(STAND_IN_TORCH);
  ASSERT_NE(device_, nullptr);
  EXPECT_THAT(device_->info().driver, testing::StartsWith("PyTorch 2.10 (/"));
  EXPECT_THAT(device_->info().driver, testing::EndsWith("3 threads"));
  EXPECT_THAT(device_->info().kernels, testing::StartsWith("PyTorch's operators"));
  CallRunner runner(*device_);
  int taken = 0;
  for (const std::unique_ptr<Kernel>& kernel : KernelRegistry::Builtin().all()) {
    for (const OpCall& call : kernel->Samples()) {
      if (call.name == "aten::relu" || call.name == "aten::relu_") {
        SCOPED_TRACE(Describe(call));
        const int before = Ask("stand_in_torch_calls");
        EXPECT_EQ(Mismatch(runner, *kernel, call), "");
        const bool floats = call.InputTensor(0)->dtype == DType::kFloat32;
        EXPECT_EQ(Ask("stand_in_torch_calls") - before, floats ? 1 : 0);
        EXPECT_EQ(device_->provider()->Takes(call), floats);
        taken += floats ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(taken, 2);
  EXPECT_EQ(Ask("stand_in_alive"), 0);
}

TEST_F(Torch, ReadsItsResultsWhereTheyAre) {
  Use(STAND_IN_TORCH);
  ASSERT_NE(torch_, nullptr);
  {
    const Aliases memory(4);
    float* const planned = memory.Floats(1);
    memory.Floats(0)[0] = -1;
    memory.Floats(0)[1] = 2;
    // 1 and 2 take turns in a buffer; 3 comes after them, by our own kernels.
    const OpCall first{"aten::relu", {Value{FloatsIn(0, 4)}}, {Value{FloatsIn(1, 4)}}};
    const OpCall second{"aten::add",
                        {Value{FloatsIn(0, 4)}, Value{FloatsIn(0, 4)}, samples::Double(0.5)},
                        {Value{FloatsIn(2, 4)}}};
    ASSERT_TRUE(RunOf(*torch_->TaskFor(first, memory)));
    EXPECT_NE(memory.Floats(1), planned);
    EXPECT_EQ(memory.Floats(1)[0], 0);
    EXPECT_EQ(memory.Floats(1)[1], 2);
    EXPECT_EQ(memory.Floats(2), planned);
    const int alive = Ask("stand_in_alive");
    ASSERT_TRUE(RunOf(*torch_->TaskFor(second, memory)));
    EXPECT_EQ(memory.Floats(1), planned);  // over; what was adopted for it is gone
    EXPECT_EQ(memory.Floats(2)[0], -1.5);
    EXPECT_EQ(memory.Floats(3), planned);
    EXPECT_LE(Ask("stand_in_alive"), alive);
    const OpCall in_place{"aten::relu_", {Value{FloatsIn(2, 4)}}, {Value{FloatsIn(2, 4)}}};
    float* const adopted = memory.Floats(2);
    ASSERT_TRUE(RunOf(*torch_->TaskFor(in_place, memory)));
    EXPECT_EQ(memory.Floats(2), adopted);
    EXPECT_EQ(adopted[0], 0);
  }
  EXPECT_EQ(Ask("stand_in_alive"), 0);
}

// Lowered calls are a storage's users: with the last one's run what was adopted goes, in every
// iteration; where something else reads it too, it stays.
TEST_F(Torch, FreesAResultWithItsLastUser) {
  Use(STAND_IN_TORCH);
  ASSERT_NE(torch_, nullptr);
  for (const bool only_tasks : {true, false}) {
    const Aliases memory(4, only_tasks);
    float* const planned = memory.Floats(1);
    memory.Floats(0)[0] = 5;
    const OpCall make{"aten::relu", {Value{FloatsIn(0, 4)}}, {Value{FloatsIn(1, 4)}}};
    const OpCall take{"aten::relu_", {Value{FloatsIn(1, 4)}}, {Value{FloatsIn(1, 4)}}};
    const Kernel* kernel = KernelRegistry::Builtin().Find(make);
    ASSERT_NE(kernel, nullptr);
    const LowerContext context{memory, device_->info(), {}};
    const auto first = *device_->lowering().Lower(*kernel, make, context);
    const auto second = *device_->lowering().Lower(*kernel, take, context);
    for (int iteration = 0; iteration < 3; ++iteration) {
      ASSERT_TRUE(RunOf(std::get<HostTask>(first.front())));
      EXPECT_NE(memory.Floats(1), planned);
      EXPECT_EQ(memory.Floats(1)[0], 5);
      ASSERT_TRUE(RunOf(std::get<HostTask>(second.front())));
      EXPECT_EQ(memory.Floats(1) == planned, only_tasks);
    }
  }
  EXPECT_EQ(Ask("stand_in_alive"), 0);
}

TEST_F(Torch, CopiesAResultThatIsLaidOutOtherwise) {
  Use(STAND_IN_TORCH);
  ASSERT_NE(torch_, nullptr);
  const Aliases memory(8);
  float* const planned = memory.Floats(1);
  memory.Floats(0)[0] = 3;
  TensorDesc strided = FloatsIn(1, 4);
  strided.strides = {2};
  const OpCall list{"aten::cat",
                    {samples::Tensors({FloatsIn(0, 2), FloatsIn(0, 2)}), samples::Int(0)},
                    {Value{strided}}};
  ASSERT_TRUE(RunOf(*torch_->TaskFor(list, memory)));
  EXPECT_EQ(memory.Floats(1), planned);
  EXPECT_EQ(planned[0], 3);
  EXPECT_EQ(planned[4], 3);
}

TEST_F(Torch, LeavesWhatItsInterfaceCannotTake) {
  Use(STAND_IN_TORCH);
  ASSERT_NE(torch_, nullptr);
  OpCall relu{"aten::relu", {Value{FloatsIn(0, 4)}}, {Value{FloatsIn(1, 4)}}};
  EXPECT_TRUE(torch_->Takes(relu));
  OpCall elsewhere = relu;
  elsewhere.inputs[0].AsTensor()->device = "cuda:0";
  EXPECT_FALSE(torch_->Takes(elsewhere));
  OpCall more = relu;
  more.inputs.push_back(samples::Int(1));
  EXPECT_FALSE(torch_->Takes(more));
  OpCall by_number{"aten::threshold_backward",
                   {Value{FloatsIn(0, 4)}, Value{FloatsIn(0, 4)}, samples::Double(0)},
                   {Value{FloatsIn(1, 4)}}};
  EXPECT_FALSE(torch_->Takes(by_number));
  // A function that this release has not.
  EXPECT_FALSE(torch_->Takes(
      {"aten::pow", {Value{FloatsIn(0, 4)}, samples::Double(2)}, {Value{FloatsIn(1, 4)}}}));
  // Another device of the same process has nothing of it.
  const auto other = OpenHostDevice({});
  ASSERT_TRUE(other);
  EXPECT_EQ((*other)->provider(), nullptr);
  EXPECT_EQ((*other)->info().driver, "");
}

// What no kernel supports: nothing stands behind PyTorch where it refuses.
TEST_F(Torch, DoesWhatNoKernelDoes) {
  Use(STAND_IN_TORCH);
  ASSERT_NE(torch_, nullptr);
  const Kernel& kernel = torch_->stand_in();
  const Aliases memory(4);
  const DeviceInfo& info = device_->info();
  const auto run = [&](const OpCall& call) {
    EXPECT_TRUE(kernel.Supports(call));
    const auto launches = device_->lowering().Lower(
        kernel, call, {memory, info, [](int, std::int64_t) { return nullptr; }});
    return launches ? RunOf(std::get<HostTask>(launches->front()))
                    : tl::unexpected(launches.error());
  };
  std::fill_n(memory.Floats(0), 4, -1.0F);
  const OpCall relu{"aten::relu", {Value{FloatsIn(0, 4)}}, {Value{FloatsIn(1, 4)}}};
  EXPECT_TRUE(run(relu));
  EXPECT_EQ(memory.Floats(1)[0], 0.0F);
  const Status refused =
      run({"aten::gelu", {Value{FloatsIn(0, 4)}, samples::Text("tanh")}, {Value{FloatsIn(1, 4)}}});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("--ops elementwise=surrogate"));
}

TEST_F(Torch, SaysWhatPyTorchSaid) {
  Use(STAND_IN_TORCH);
  ASSERT_NE(torch_, nullptr);
  const Aliases memory(4);
  const OpCall gelu{
      "aten::gelu", {Value{FloatsIn(0, 4)}, samples::Text("tanh")}, {Value{FloatsIn(1, 4)}}};
  const Status refused = RunOf(*torch_->TaskFor(gelu, memory));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "PyTorch could not do aten::gelu: no gelu of kind tanh");
  const OpCall beyond{"aten::relu", {Value{FloatsIn(0, 5)}}, {Value{FloatsIn(1, 5)}}};
  const Status small = RunOf(*torch_->TaskFor(beyond, memory));
  ASSERT_FALSE(small);
  EXPECT_THAT(small.error().message, HasSubstr("has 16 bytes, a tensor in it needs 20"));
  const auto other = OpenHostDevice({{kTorchSetting, "libm.so.6"}});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::kEnvironment);
  EXPECT_THAT(other.error().message, HasSubstr("PyTorch 2.10 and later"));
}

TEST_F(Torch, IsABaselineWhoseNewResultsAreFreed) {
  const auto device = OpenHostDevice({});
  ASSERT_TRUE(device);
  const auto launch_on_host = [](const TorchLibrary& /*library*/, HostTask task) {
    return std::make_unique<HostLaunch>(std::move(task));
  };
  const auto unnamed = OpenTorchBaseline("", {}, launch_on_host);
  ASSERT_FALSE(unnamed);
  EXPECT_THAT(unnamed.error().message, HasSubstr("not named with --torch"));
  {
    const auto baseline = OpenTorchBaseline(STAND_IN_TORCH, {}, launch_on_host);
    ASSERT_TRUE(baseline) << baseline.error().message;
    EXPECT_EQ((*baseline)->name(), "PyTorch");
    EXPECT_THAT((*baseline)->version(), testing::StartsWith("2.10 (/"));
    const Aliases memory(4);
    float* const planned = memory.Floats(1);
    const OpCall relu{"aten::relu", {Value{FloatsIn(0, 4)}}, {Value{FloatsIn(1, 4)}}};
    ASSERT_TRUE((*baseline)->Supports(relu));
    const auto launch = (*baseline)->Prepare(relu, memory);
    ASSERT_TRUE(launch) << launch.error().message;
    const auto stream = *(*device)->CreateStream(false);
    const int before = Ask("stand_in_torch_calls");
    ASSERT_TRUE(stream->Enqueue(**launch));
    ASSERT_TRUE(stream->Finish());
    EXPECT_EQ(Ask("stand_in_torch_calls"), before + 1);
    EXPECT_EQ(memory.Floats(1), planned);
    EXPECT_EQ(Ask("stand_in_alive"), 1);  // the operand
  }
  EXPECT_EQ(Ask("stand_in_alive"), 0);
}

// PyTorch's own results are what the References are to be; each kernel's samples, as far as its
// interface takes them.
TEST_F(Torch, TheRealOneAgreesWithTheReferences) {
  const char* path = std::getenv("REPRISE_TORCH");
  if (path == nullptr) {
    REPRISE_SKIP("torch", "REPRISE_TORCH is not set");
  }
  Use(path);
  ASSERT_NE(torch_, nullptr);
  int agreed = 0;
  int refused = 0;
  for (const std::unique_ptr<Kernel>& kernel : KernelRegistry::Builtin().all()) {
    for (const OpCall& call : kernel->Samples()) {
      if (torch_->Takes(call) && !HasAnotherMeaning(*kernel, call)) {
        SCOPED_TRACE(Describe(call));
        CallMemory expected(call);
        ASSERT_TRUE(kernel->Reference(call, expected));
        CallMemory actual(call);
        const HostBuffers buffers(actual);
        if (!RunOf(*torch_->TaskFor(call, buffers))) {
          ++refused;  // in a replay our own kernel does it
          continue;
        }
        buffers.CopyTo(actual);
        EXPECT_EQ(Difference(actual, expected, ToleranceOf(*kernel, call)), "");
        ++agreed;
      }
    }
  }
  EXPECT_GT(agreed, 500);
  EXPECT_LT(refused, agreed / 10);
  RecordProperty("agreed", agreed);
  RecordProperty("refused", refused);
}

}  // namespace
}  // namespace reprise
