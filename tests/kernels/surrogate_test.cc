// Work that no kernel does: surrogates, copies of memory.
#include <gtest/gtest.h>

#include "kernels/program_lowering.h"
#include "tests/kernels/on_backend.h"

namespace reprise {
namespace {

// Never run; a surrogate has no other use for it.
class NoBuffer final : public Buffer {
 public:
  [[nodiscard]] std::int64_t size_bytes() const override { return 0; }
  [[nodiscard]] std::byte* host_data() override { return nullptr; }
};

struct NoBindings final : Bindings {
  [[nodiscard]] Buffer* Find(std::int64_t /*incarnation*/) const override { return nullptr; }
};

TEST(Surrogate, DoesTheFlopsAndBytesThatItIsGiven) {
  DeviceInfo device;
  device.max_work_group_size = 256;
  NoBuffer scratch;
  const NoBindings none;
  const LowerContext context{none, device,
                             [&](int, std::int64_t) -> Result<Buffer*> { return &scratch; }};
  for (const Cost& cost : {Cost{1e9, 0}, Cost{1e14, 64}, Cost{1e6, 8e6}, Cost{0, 4e9}}) {
    const auto launches = LowerSurrogate(cost, ProgramLowering(), context);
    ASSERT_TRUE(launches);
    ASSERT_EQ(launches->size(), 1U);
    const auto& args = std::get<DeviceKernel>(launches->front()).args;
    const auto visits = static_cast<double>(std::get<std::int64_t>(args.at(1)) *
                                            std::get<std::int64_t>(args.at(2)));
    EXPECT_NEAR(2 * visits * std::get<std::int32_t>(args.at(3)), cost.flops,
                0.01 * cost.flops + visits);  // a word has whole multiply-adds
    EXPECT_NEAR(8 * visits, cost.bytes, 0.01 * cost.bytes + 0.01 * cost.flops);
  }
}

class MemcpyOnBackend : public OnBackend {
 protected:
  // Bytes that the launches write, each within the scratch that they were given.
  std::int64_t Written(std::int64_t bytes, bool fill) {
    std::vector<std::unique_ptr<Buffer>> scratch;
    const NoBindings none;
    const LowerContext context{none, device_->info(),
                               [&](int, std::int64_t size) -> Result<Buffer*> {
                                 REPRISE_ASSIGN(auto buffer, device_->Allocate(size));
                                 scratch.push_back(std::move(buffer));
                                 return scratch.back().get();
                               }};
    const auto launches = LowerMemcpy(bytes, fill, context);
    EXPECT_TRUE(launches);
    std::int64_t written = 0;
    const auto stream = device_->CreateStream(false);
    for (const Launch& launch : *launches) {
      const auto prepared = device_->Prepare(launch);
      EXPECT_TRUE(prepared) << prepared.error().message;
      EXPECT_TRUE((*stream)->Enqueue(**prepared));
      const auto* copy = std::get_if<DeviceCopy>(&launch);
      written += copy != nullptr ? copy->bytes : std::get<DeviceFill>(launch).bytes;
    }
    EXPECT_TRUE((*stream)->Finish());
    return written;
  }
};

TEST_P(MemcpyOnBackend, MovesEveryByte) {
  for (const bool fill : {false, true}) {
    EXPECT_EQ(Written(0, fill), 0);
    EXPECT_EQ(Written(13, fill), 13);
    EXPECT_EQ(Written((std::int64_t{256} << 20) + 5, fill), (std::int64_t{256} << 20) + 5);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, MemcpyOnBackend, testing::ValuesIn(BackendNames()));

}  // namespace
}  // namespace reprise
