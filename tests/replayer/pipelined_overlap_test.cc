// Copies between device and host overlap the network, chunk by chunk.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <thread>

#include "kernels/backend.h"
#include "replayer/engine/pipelined_transfer.h"
#include "tests/replayer/staging_fixture.h"

namespace reprise::testing {
namespace {

// A stream of the host backend's buffers whose commands run when the test says.
class SlowStream final : public Stream {
 public:
  // Up to and with the next recorded event; false if there is none.
  bool RunToEvent() {
    while (!commands_.empty()) {
      const auto command = std::move(commands_.front());
      commands_.pop_front();
      if (command()) {
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] int uploads() const { return uploads_; }

  Status Upload(Buffer& dst, std::int64_t offset_bytes, const void* src,
                std::int64_t bytes) override {
    ++uploads_;
    return Copy(dst.host_data() + offset_bytes, src, bytes);
  }
  Status Download(void* dst, const Buffer& src, std::int64_t offset_bytes,
                  std::int64_t bytes) override {
    return Copy(dst, const_cast<Buffer&>(src).host_data() + offset_bytes, bytes);
  }
  Result<EventPtr> Record() override {
    auto event = std::make_shared<Passed>();
    commands_.emplace_back([event] { return event->done = true; });
    return event;
  }
  Status Enqueue(const PreparedLaunch& /*launch*/) override { return {}; }
  Status WaitFor(std::span<const EventPtr> /*events*/) override { return {}; }
  Status Flush() override { return {}; }
  Status Finish() override { return {}; }
  Result<std::vector<Times>> TakeTimes() override { return std::vector<Times>(); }

 private:
  struct Passed final : Event {
    [[nodiscard]] bool IsDone() const override { return done; }
    [[nodiscard]] Status Wait() const override { return {}; }
    bool done = false;
  };
  Status Copy(void* dst, const void* src, std::int64_t bytes) {
    commands_.emplace_back([dst, src, bytes] {
      std::memcpy(dst, src, static_cast<std::size_t>(bytes));
      return false;
    });
    return {};
  }
  std::deque<std::function<bool()>> commands_;  // true: an event
  int uploads_ = 0;
};

// A member whose copies take as long as the test wants.
struct SlowMember {
  Storages storages;
  std::optional<Staging> staging;
  SlowStream stream;
  std::unique_ptr<GroupComm> group;
  std::unique_ptr<PipelinedTransfer> transfer;
};

constexpr std::int64_t kChunks = 4;
constexpr std::int64_t kBlockBytes = 1024;

Status Begin(const CommSpec& spec, Device& device, SlowMember& slow) {
  OpCall call{.name = "collective", .inputs = {}, .outputs = {}};
  for (const bool in : {true, false}) {
    const std::int64_t bytes = in ? spec.in_bytes : spec.out_bytes;
    if (bytes > 0) {
      REPRISE_ASSIGN(slow.storages.buffers[in ? 0 : 1], device.Allocate(bytes));
      (in ? call.inputs : call.outputs).push_back({Part(in ? 0 : 1, 0, bytes, spec.dtype)});
    }
  }
  REPRISE_ASSIGN(slow.staging, Staging::Create(spec, call, &slow.storages, &device, false));
  const auto cut = CutOf(spec, 2, kBlockBytes / kChunks);
  if (!cut) {
    return CheckFailed("not cut");
  }
  slow.transfer =
      std::make_unique<PipelinedTransfer>(*slow.group, spec, *slow.staging, &slow.stream, *cut);
  return {};
}

void ExpectOverlap(CommKind kind) {
  SCOPED_TRACE(Name(kind));
  const auto device = OpenDevice({.backend = "host"});
  ASSERT_TRUE(device);
  auto communicators = CreateLocalCommunicators(2);
  std::array<SlowMember, 2> members;
  {
    std::jthread other([&] { members[1].group = *communicators[1]->CreateGroup({0, 1}); });
    members[0].group = *communicators[0]->CreateGroup({0, 1});
  }
  for (int rank = 0; rank < 2; ++rank) {
    const Status begun = Begin(BlockSpec(kind, DType::kUInt8, kBlockBytes, rank, 2), **device,
                               members[static_cast<std::size_t>(rank)]);
    ASSERT_TRUE(begun) << begun.error().message;
  }
  const auto test_all = [&] {
    bool done = true;
    for (int round = 0; round < 2; ++round) {  // the first to start is tested before the last has
      done = true;
      for (SlowMember& member : members) {
        const Result<bool> tested = member.transfer->Test();
        EXPECT_TRUE(tested) << tested.error().message;
        done = done && tested.value_or(false);
      }
    }
    return done;
  };
  EXPECT_FALSE(test_all());
  EXPECT_EQ(members[kRoot].stream.uploads(), 0);  // nothing has come from a device yet
  for (SlowMember& member : members) {
    member.stream.RunToEvent();  // the first chunk's download, and no other
  }
  EXPECT_FALSE(test_all());
  EXPECT_FALSE(members[kRoot].transfer->AllStarted());
  // It has passed the network and is on its way back to the device.
  EXPECT_EQ(members[kRoot].stream.uploads(),
            kind == CommKind::kAllToAll || kind == CommKind::kAllGather || kind == CommKind::kGather
                ? 2
                : 1);
  for (int turn = 0; turn < 2 * kChunks; ++turn) {
    for (SlowMember& member : members) {
      member.stream.RunToEvent();
    }
    test_all();
  }
  EXPECT_TRUE(test_all());
  EXPECT_TRUE(members[kRoot].transfer->AllStarted());
}

TEST(PipelinedTransfer, AChunkPassesWhileTheNextIsOnTheDevice) {
  for (const CommKind kind : kBlockKinds) {
    ExpectOverlap(kind);
  }
}

}  // namespace
}  // namespace reprise::testing
