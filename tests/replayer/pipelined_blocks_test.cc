// Transfers with a block for each member, in chunks: the same bytes as moved whole, and copies that
// really overlap the network.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <numeric>
#include <thread>

#include "replayer/pipelined_transfer.h"
#include "tests/replayer/staging_fixture.h"

namespace reprise::testing {
namespace {

constexpr std::int32_t kRoot = 0;
constexpr std::array kKinds = {CommKind::kAllGather, CommKind::kReduceScatter, CommKind::kAllToAll,
                               CommKind::kGather, CommKind::kScatter};

// As one member takes part; what only the root has is empty elsewhere.
CommSpec SpecOf(CommKind kind, DType dtype, std::int64_t block_bytes, int rank, int size) {
  const bool gathers = kind == CommKind::kAllGather || kind == CommKind::kGather;
  const bool rooted = kind == CommKind::kGather || kind == CommKind::kScatter;
  const std::int64_t all = rooted && rank != kRoot ? 0 : block_bytes * size;
  const bool all_to_all = kind == CommKind::kAllToAll;
  return {.kind = kind,
          .group = "0",
          .dtype = dtype,
          .in_bytes = gathers ? block_bytes : all,
          .out_bytes = gathers || all_to_all ? all : block_bytes,
          .in_splits = {},
          .out_splits = {},
          .root = rooted ? kRoot : -1};
}

enum class Tensors {
  kOne,      // on each side
  kList,     // one for each block, each in a storage of its own
  kOdd,      // several that end within blocks
  kInPlace,  // the smaller side is this member's block of the larger
};
struct Case {
  CommKind kind;
  DType dtype;
  std::int64_t block_elements;
  Tensors tensors;
  bool listed = false;  // equal splits are named
};

struct Member {
  int rank;
  int size;
  Device* device;
  Stream* stream;
  GroupComm* group;
};

// The tensors of one member's transfer on its device. Every storage begins and ends with an element
// that no tensor has.
struct Laid {
  Storages storages;
  OpCall call{.name = "collective", .inputs = {}, .outputs = {}};
};

Status AddTensors(const Member& member, DType dtype, std::int64_t elements,
                  std::int64_t most_elements, Laid& laid, ValueList& values) {
  for (std::int64_t at = 0; at < elements; at += most_elements) {
    const std::int64_t here = std::min(most_elements, elements - at);
    const auto number = static_cast<std::int64_t>(laid.storages.buffers.size());
    REPRISE_ASSIGN(laid.storages.buffers[number],
                   member.device->Allocate((here + 2) * SizeOf(dtype)));
    values.push_back({Part(number, 1, here, dtype)});
  }
  return {};
}

Status Lay(const Member& member, const Case& one, const CommSpec& spec, Laid& laid) {
  const std::int64_t in = spec.in_bytes / SizeOf(spec.dtype);
  const std::int64_t out = spec.out_bytes / SizeOf(spec.dtype);
  const std::int64_t most = one.tensors == Tensors::kList  ? one.block_elements
                            : one.tensors == Tensors::kOdd ? one.block_elements * 2 / 3
                                                           : std::max(in, out);
  const std::int64_t own = 1 + member.rank * one.block_elements;
  const bool in_is_part = one.tensors == Tensors::kInPlace && in <= out;
  const bool out_is_part = one.tensors == Tensors::kInPlace && !in_is_part;
  if (!in_is_part) {
    REPRISE_TRY(AddTensors(member, spec.dtype, in, most, laid, laid.call.inputs));
  }
  if (!out_is_part) {
    REPRISE_TRY(AddTensors(member, spec.dtype, out, most, laid, laid.call.outputs));
  }
  if (in_is_part) {
    laid.call.inputs.push_back({Part(0, own, in, spec.dtype)});
  }
  if (out_is_part) {
    laid.call.outputs.push_back({Part(0, own, out, spec.dtype)});
  }
  return {};
}

// Bytes whose sums over 3 members overflow in no integer.
std::vector<std::byte> BytesOf(int rank, std::int64_t storage, std::int64_t bytes) {
  std::vector<std::byte> values(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::byte>(
        (i * 7 + static_cast<std::size_t>(rank) * 13 + static_cast<std::size_t>(storage) * 5) % 41);
  }
  return values;
}

using Contents = std::vector<std::vector<std::byte>>;  // by storage

Status Move(const Member& member, const CommSpec& spec, const Laid& laid,
            std::int64_t chunk_bytes) {
  REPRISE_ASSIGN(Staging staging,
                 Staging::Create(spec, laid.call, &laid.storages, member.device, false));
  if (chunk_bytes == 0) {
    REPRISE_TRY(staging.Download(*member.stream));
    REPRISE_ASSIGN(const auto whole, member.group->Start(spec, staging.in(), staging.out()));
    REPRISE_TRY(WaitFor(*whole));
    return staging.Upload(*member.stream);
  }
  const auto cut = CutOf(spec, member.size, chunk_bytes);
  if (!cut) {
    return CheckFailed("not cut");
  }
  PipelinedTransfer transfer(*member.group, spec, staging, member.stream, *cut);
  REPRISE_TRY(WaitFor(transfer));
  return transfer.AllStarted() ? Status{} : CheckFailed("done, but not all started");
}

// What all storages hold after the transfer; `changed`, whether that is something else than before.
Result<Contents> After(const Member& member, const Case& one, std::int64_t chunk_bytes,
                       bool& changed) {
  CommSpec spec =
      SpecOf(one.kind, one.dtype, one.block_elements * SizeOf(one.dtype), member.rank, member.size);
  if (one.listed) {
    const bool gathers = one.kind == CommKind::kAllGather || one.kind == CommKind::kGather;
    (gathers ? spec.out_splits : spec.in_splits)
        .assign(static_cast<std::size_t>(member.size), one.block_elements);
  }
  Laid laid;
  REPRISE_TRY(Lay(member, one, spec, laid));
  Contents before;
  for (const auto& [number, buffer] : laid.storages.buffers) {
    before.push_back(BytesOf(member.rank, number, buffer->size_bytes()));
    REPRISE_TRY(member.stream->Upload(*buffer, 0, before.back().data(), buffer->size_bytes()));
  }
  REPRISE_TRY(member.stream->Finish());
  REPRISE_TRY(Move(member, spec, laid, chunk_bytes));
  Contents after = before;
  for (const auto& [number, buffer] : laid.storages.buffers) {
    REPRISE_TRY(member.stream->Download(after[static_cast<std::size_t>(number)].data(), *buffer, 0,
                                        buffer->size_bytes()));
  }
  REPRISE_TRY(member.stream->Finish());
  changed = after != before;
  return after;
}

// In chunks that divide the block, that do not, and that are no whole number of elements.
Status Compare(const Member& member, const Case& one) {
  const std::string words =
      fmt::format("{} of {}, tensors {}, {} members", Name(one.kind), Name(one.dtype),
                  static_cast<int>(one.tensors), member.size);
  const std::int64_t element = SizeOf(one.dtype);
  bool changed = false;
  REPRISE_ASSIGN(const Contents whole, After(member, one, 0, changed));
  const bool receives = one.kind != CommKind::kGather || member.rank == kRoot;
  if (changed != receives && member.size > 1) {
    return CheckFailed(words + ": whole: what changes is not what is received");
  }
  for (const std::int64_t chunk_bytes :
       {one.block_elements / 4 * element, 7 * element, 5 * element - 1}) {
    REPRISE_ASSIGN(const Contents cut, After(member, one, chunk_bytes, changed));
    if (cut != whole) {
      return CheckFailed(fmt::format("{}: chunks of {} bytes differ", words, chunk_bytes));
    }
  }
  return {};
}

Status CompareAll(Communicator& communicator, const std::string& backend) {
  REPRISE_ASSIGN(const auto device, OpenDevice({.backend = backend}));
  REPRISE_ASSIGN(const auto stream, device->CreateStream(false));
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(communicator.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  REPRISE_ASSIGN(const auto group, communicator.CreateGroup(ranks));
  const Member member{communicator.rank(), communicator.size(), device.get(), stream.get(),
                      group.get()};
  for (const CommKind kind : kKinds) {
    const bool in_place = kind == CommKind::kAllGather || kind == CommKind::kReduceScatter;
    for (const DType dtype : {DType::kUInt8, DType::kInt16, DType::kInt32, DType::kInt64}) {
      for (const Tensors tensors : {Tensors::kOne, Tensors::kList, Tensors::kOdd}) {
        REPRISE_TRY(Compare(member, {kind, dtype, 24, tensors}));
      }
      if (in_place) {
        REPRISE_TRY(Compare(member, {kind, dtype, 24, Tensors::kInPlace}));
      }
    }
    if (kind != CommKind::kAllToAll) {
      REPRISE_TRY(Compare(member, {kind, DType::kInt32, 24, Tensors::kOne, true}));
    }
  }
  return {};
}

class PipelinedBlocks : public ::testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(PipelinedBlocks, AreThoseOfTheWholeTransfer) {
  const auto& [backend, size] = GetParam();
  const auto devices = ListDevices(backend);
  if (!devices || devices->empty()) {
    GTEST_SKIP() << "no device of backend " << backend;
  }
  auto communicators = CreateLocalCommunicators(size);
  std::vector<Status> outcomes(static_cast<std::size_t>(size));
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
      threads.emplace_back([&, rank, backend = std::string(backend)] {
        outcomes[rank] = CompareAll(*communicators[rank], backend);
        if (!outcomes[rank]) {
          communicators[rank]->RaiseAbort(outcomes[rank].error());
        }
      });
    }
  }
  for (const Status& outcome : outcomes) {
    EXPECT_TRUE(outcome) << outcome.error().message;
  }
}
INSTANTIATE_TEST_SUITE_P(Backends, PipelinedBlocks,
                         ::testing::Combine(::testing::Values("host", "opencl"),
                                            ::testing::Values(1, 3)));

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
  Laid laid;
  std::optional<Staging> staging;
  SlowStream stream;
  std::unique_ptr<GroupComm> group;
  std::unique_ptr<PipelinedTransfer> transfer;
};

constexpr std::int64_t kChunks = 4;
constexpr std::int64_t kBlock = 256;

Status Begin(CommKind kind, int rank, Device& device, SlowMember& slow) {
  const Member member{rank, 2, &device, &slow.stream, slow.group.get()};
  const CommSpec spec = SpecOf(kind, DType::kInt32, kBlock * 4, rank, 2);
  REPRISE_TRY(Lay(member, {kind, DType::kInt32, kBlock, Tensors::kOne}, spec, slow.laid));
  REPRISE_ASSIGN(slow.staging,
                 Staging::Create(spec, slow.laid.call, &slow.laid.storages, &device, false));
  const auto cut = CutOf(spec, 2, kBlock * 4 / kChunks);
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
    const Status begun = Begin(kind, rank, **device, members[static_cast<std::size_t>(rank)]);
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
  for (const CommKind kind : kKinds) {
    ExpectOverlap(kind);
  }
}

constexpr std::int64_t kMib = 1 << 20;

TEST(CutOf, ChunksHoldAllBlocksAndPiecesAreNotTiny) {
  const CommSpec spec = SpecOf(CommKind::kAllGather, DType::kInt32, 64 * kMib, 0, 8);
  const auto cut = CutOf(spec, 8, 4 * kMib);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->in_blocks, 1);
  EXPECT_EQ(cut->out_blocks, 8);
  EXPECT_EQ(cut->block_bytes, 64 * kMib);
  EXPECT_EQ(cut->step_bytes, 4 * kMib / 8);
  EXPECT_EQ(CutOf(spec, 1024, 4 * kMib)->step_bytes, kLeastPieceBytes);
  EXPECT_EQ(CutOf(spec, 1024, 4096)->step_bytes, 4096);
  EXPECT_EQ(CutOf(spec, 8, 4095)->step_bytes, 4092);  // whole elements
  EXPECT_EQ(CutOf(spec, 8, 3)->step_bytes, 4);        // at least one
}

TEST(CutOf, WhatIsNotLongerThanAChunkIsMovedWhole) {
  CommSpec spec{.kind = CommKind::kBroadcast, .group = "", .out_bytes = 100};
  EXPECT_TRUE(CutOf(spec, 2, 99));
  EXPECT_FALSE(CutOf(spec, 2, 100));
  EXPECT_FALSE(CutOf(spec, 2, 0));
  for (const CommKind kind : kKinds) {
    spec = SpecOf(kind, DType::kUInt8, 100, kRoot, 3);
    EXPECT_TRUE(CutOf(spec, 3, 99));
    EXPECT_FALSE(CutOf(spec, 3, 100));
    EXPECT_FALSE(CutOf(SpecOf(kind, DType::kUInt8, 0, kRoot, 3), 3, 1));
  }
  EXPECT_FALSE(CutOf({.kind = CommKind::kBarrier, .group = ""}, 2, 1));
}

TEST(CutOf, UnequalBlocksAreMovedWhole) {
  CommSpec spec = SpecOf(CommKind::kAllGather, DType::kUInt8, 100, 0, 2);
  spec.out_splits = {100, 100};
  EXPECT_TRUE(CutOf(spec, 2, 50));
  spec.out_splits = {100, 99};
  EXPECT_FALSE(CutOf(spec, 2, 50));
  spec = SpecOf(CommKind::kAllToAll, DType::kUInt8, 100, 0, 2);
  spec.in_splits = {100, 100};  // another member's may not be
  EXPECT_FALSE(CutOf(spec, 2, 50));
}

// Root or not, whatever else a member says of sides that it has not.
TEST(CutOf, AllMembersCutAlike) {
  for (const CommKind kind : {CommKind::kGather, CommKind::kScatter, CommKind::kReduce}) {
    for (const std::int64_t other : {std::int64_t{0}, std::int64_t{100}, std::int64_t{400}}) {
      const bool scatters = kind == CommKind::kScatter;
      const CommSpec spec{.kind = kind,
                          .group = "",
                          .in_bytes = scatters ? other : 100,
                          .out_bytes = scatters ? 100 : other,
                          .in_splits = {},
                          .out_splits = {}};
      const auto cut = CutOf(spec, 4, 40);
      ASSERT_TRUE(cut);
      EXPECT_EQ(cut->block_bytes, 100);
      EXPECT_EQ(cut->step_bytes, 40);
      EXPECT_FALSE(CutOf(spec, 4, 100));
    }
  }
}

}  // namespace
}  // namespace reprise::testing
