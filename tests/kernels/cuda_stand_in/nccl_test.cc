// Groups of CUDA devices by NCCL, on the stand-ins: all members in this thread, since nothing of a
// group waits.
#include <gmock/gmock.h>

#include <filesystem>
#include <functional>
#include <numeric>

#include "kernels/backend.h"
#include "kernels/device_transfers.h"
#include "tests/kernels/cuda_stand_in/driver.h"

namespace cuda_stand_in {
namespace {

using reprise::CommKind;
using reprise::DType;
using reprise::ErrorKind;
using reprise::ReduceOp;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kMembers = 3;
constexpr std::int64_t kFloat = 4;

struct OneMember {
  std::unique_ptr<reprise::Stream> stream;
  std::unique_ptr<reprise::Buffer> in, out;
  std::unique_ptr<reprise::DeviceGroup> group;
  reprise::EventPtr end;
};

class NcclGroups : public WithDriver {
 protected:
  void SetUp() override {
    setenv("REPRISE_STAND_IN_NCCL_FOLDER", testing::TempDir().c_str(), 1);
    unsetenv("REPRISE_STAND_IN_NCCL_FAULT");
    unsetenv("REPRISE_STAND_IN_NCCL_VERSION");
    static const OpenedLibrary nccl(STAND_IN_NCCL);
    WithDriver::SetUp();
    auto device = reprise::OpenDevice({.backend = "cuda"});
    ASSERT_TRUE(device) << device.error().message;
    device_ = std::move(*device);
    auto transfers = device_->OpenTransfers();
    ASSERT_TRUE(transfers) << transfers.error().message;
    transfers_ = std::move(*transfers);
  }
  void TearDown() override {
    members_.clear();
    transfers_.reset();
    device_.reset();
    WithDriver::TearDown();
    unsetenv("REPRISE_STAND_IN_NCCL_FAULT");
  }

  // Each with `floats` of memory on either side.
  void Join(std::size_t floats) {
    const auto identity = transfers_->NewIdentity();
    ASSERT_TRUE(identity);
    for (int rank = 0; rank < kMembers; ++rank) {
      OneMember& member = members_.emplace_back();
      const auto bytes = static_cast<std::int64_t>(floats) * kFloat;
      member.stream = *device_->CreateStream(false);
      member.in = *device_->Allocate(bytes);
      member.out = *device_->Allocate(bytes);
      auto group = transfers_->Join(*identity, rank, kMembers);
      ASSERT_TRUE(group) << group.error().message;
      member.group = std::move(*group);
      EXPECT_EQ(*member.group->IsReady(), rank == kMembers - 1);
    }
    for (OneMember& member : members_) {
      EXPECT_EQ(*member.group->IsReady(), true);
    }
  }
  static reprise::DevicePiece Piece(const std::unique_ptr<reprise::Buffer>& buffer, int floats,
                                    int from = 0) {
    return {buffer.get(), from * kFloat, floats * kFloat};
  }
  void Put(int rank, std::vector<float> values) {
    OneMember& member = members_.at(static_cast<std::size_t>(rank));
    ASSERT_TRUE(member.stream->Upload(*member.in, 0, values.data(),
                                      static_cast<std::int64_t>(values.size()) * kFloat));
    ASSERT_TRUE(member.stream->Finish());
  }
  std::vector<float> OutOf(int rank, std::size_t count) {
    OneMember& member = members_.at(static_cast<std::size_t>(rank));
    std::vector<float> values(count);
    EXPECT_TRUE(member.stream->Download(values.data(), *member.out, 0,
                                        static_cast<std::int64_t>(count) * kFloat));
    EXPECT_TRUE(member.stream->Finish());
    return values;
  }
  // Members that take part enqueue what `transfer_of` makes; false: it does not end.
  bool Run(const std::function<reprise::DeviceTransfer(int)>& transfer_of,
           const std::vector<int>& ranks = {0, 1, 2}) {
    for (const int rank : ranks) {
      OneMember& member = members_.at(static_cast<std::size_t>(rank));
      const reprise::DeviceTransfer transfer = transfer_of(rank);
      EXPECT_TRUE(transfers_->Takes(transfer, rank, kMembers)) << rank;
      const auto enqueued = member.group->Enqueue(transfer, *member.stream);
      EXPECT_TRUE(enqueued) << enqueued.error().message;
      member.end = nullptr;
    }
    constexpr int kManyTurns = 100;
    for (int turn = 0; turn < kManyTurns; ++turn) {
      bool all = true;
      for (const int rank : ranks) {
        OneMember& member = members_.at(static_cast<std::size_t>(rank));
        const auto ready = member.group->IsReady();
        if (ready && *ready && member.end == nullptr) {
          member.end = *member.stream->Record();
        }
        // Each is asked: a member's part runs when its stream is asked after.
        const bool is_done = member.end != nullptr && member.end->IsDone();
        all = all && is_done;
      }
      if (all) {
        return true;
      }
    }
    return false;
  }
  // in → out on all members, float32.
  std::function<reprise::DeviceTransfer(int)> Whole(CommKind kind, int in_floats, int out_floats,
                                                    ReduceOp op = ReduceOp::kSum, int root = -1) {
    return [=, this](int rank) {
      const OneMember& member = members_.at(static_cast<std::size_t>(rank));
      reprise::DeviceTransfer transfer{.kind = kind, .dtype = DType::kFloat32, .op = op};
      transfer.root = root;
      transfer.in = {Piece(member.in, in_floats)};
      transfer.out = {Piece(member.out, out_floats)};
      const auto blocks = [](int floats) {
        return std::vector<std::int64_t>(kMembers, floats * kFloat / kMembers);
      };
      if (reprise::HasBlocks(kind) && !reprise::IsGathering(kind)) {
        transfer.in_blocks = blocks(in_floats);
      }
      if (reprise::HasBlocks(kind) && !reprise::IsScattering(kind)) {
        transfer.out_blocks = blocks(out_floats);
      }
      return transfer;
    };
  }
  void PutRanks(int floats) {
    for (int rank = 0; rank < kMembers; ++rank) {
      std::vector<float> values(static_cast<std::size_t>(floats));
      std::iota(values.begin(), values.end(), static_cast<float>(10 * rank));
      Put(rank, values);
    }
  }

  std::unique_ptr<reprise::Device> device_;
  std::shared_ptr<reprise::DeviceTransfers> transfers_;
  std::vector<OneMember> members_;
};

TEST_F(NcclGroups, SaysItsVersion) { EXPECT_EQ(transfers_->description(), "NCCL 2.28.3"); }

TEST_F(NcclGroups, AllReduceOfEachOperation) {
  Join(2);
  PutRanks(2);
  const std::vector<std::pair<ReduceOp, float>> expected = {{ReduceOp::kSum, 33},
                                                            {ReduceOp::kAvg, 11},
                                                            {ReduceOp::kMin, 1},
                                                            {ReduceOp::kMax, 21},
                                                            {ReduceOp::kProd, 1 * 11 * 21}};
  for (const auto& [op, second] : expected) {
    ASSERT_TRUE(Run(Whole(CommKind::kAllReduce, 2, 2, op)));
    for (int rank = 0; rank < kMembers; ++rank) {
      EXPECT_EQ(OutOf(rank, 2)[1], second) << reprise::Name(op);
    }
  }
}

// A call for each, and in place.
TEST_F(NcclGroups, PiecesMatchOneByOne) {
  Join(4);
  PutRanks(4);
  const auto pieces = [this](int rank) {
    const OneMember& member = members_.at(static_cast<std::size_t>(rank));
    auto transfer = Whole(CommKind::kAllReduce, 1, 1)(rank);
    transfer.in = {Piece(member.in, 1, 3), Piece(member.in, 2, 0)};
    transfer.out = {Piece(member.out, 1, 0), Piece(member.out, 2, 1)};
    return transfer;
  };
  ASSERT_TRUE(Run(pieces));
  EXPECT_THAT(OutOf(1, 4), ElementsAre(39, 30, 33, 0));
  ASSERT_TRUE(Run([this](int rank) {
    auto transfer = Whole(CommKind::kAllReduce, 3, 3)(rank);
    transfer.in = transfer.out;
    return transfer;
  }));
  EXPECT_THAT(OutOf(2, 3), ElementsAre(3 * 39, 3 * 30, 3 * 33));
}

TEST_F(NcclGroups, OnlyTheRootOfAReduceHasTheResult) {
  Join(2);
  PutRanks(2);
  ASSERT_TRUE(Run([this](int rank) {
    auto transfer = Whole(CommKind::kReduce, 2, 2, ReduceOp::kSum, 1)(rank);
    transfer.out.resize(rank == 1 ? 1 : 0);
    return transfer;
  }));
  EXPECT_THAT(OutOf(0, 2), ElementsAre(0, 0));
  EXPECT_THAT(OutOf(1, 2), ElementsAre(30, 33));
}

TEST_F(NcclGroups, ABroadcastIsTheRootsData) {
  Join(2);
  PutRanks(2);
  ASSERT_TRUE(Run([this](int rank) {
    auto transfer = Whole(CommKind::kBroadcast, 2, 2, ReduceOp::kSum, 2)(rank);
    transfer.in.resize(rank == 2 ? 1 : 0);
    return transfer;
  }));
  EXPECT_THAT(OutOf(0, 2), ElementsAre(20, 21));
  EXPECT_THAT(OutOf(2, 2), ElementsAre(20, 21));
}

TEST_F(NcclGroups, BlocksOfEqualSize) {
  Join(6);
  PutRanks(6);
  ASSERT_TRUE(Run(Whole(CommKind::kAllGather, 2, 6)));
  EXPECT_THAT(OutOf(0, 6), ElementsAre(0, 1, 10, 11, 20, 21));
  ASSERT_TRUE(Run(Whole(CommKind::kReduceScatter, 6, 2)));
  EXPECT_THAT(OutOf(1, 2), ElementsAre(36, 39));
  ASSERT_TRUE(Run(Whole(CommKind::kAllToAll, 6, 6)));
  EXPECT_THAT(OutOf(1, 6), ElementsAre(2, 3, 12, 13, 22, 23));
}

TEST_F(NcclGroups, BlocksOfOtherSizes) {
  Join(6);
  PutRanks(6);
  // Member r sends r elements to each; the own block of member 0 is empty.
  ASSERT_TRUE(Run([this](int rank) {
    auto transfer = Whole(CommKind::kAllToAll, 3 * rank, 3)(rank);
    transfer.in.resize(rank == 0 ? 0 : 1);
    transfer.in_blocks.assign(rank == 0 ? 0 : kMembers, rank * kFloat);
    transfer.out_blocks = {0, kFloat, 2 * kFloat};
    return transfer;
  }));
  EXPECT_THAT(OutOf(1, 3), ElementsAre(11, 22, 23));
  ASSERT_TRUE(Run([this](int rank) {
    auto transfer = Whole(CommKind::kAllGather, rank + 1, 6)(rank);
    transfer.out_blocks = {kFloat, 2 * kFloat, 3 * kFloat};
    return transfer;
  }));
  EXPECT_THAT(OutOf(0, 6), ElementsAre(0, 10, 11, 20, 21, 22));
}

TEST_F(NcclGroups, GatherAndScatter) {
  Join(6);
  PutRanks(6);
  ASSERT_TRUE(Run([this](int rank) {
    auto transfer = Whole(CommKind::kGather, 2, 6, ReduceOp::kSum, 1)(rank);
    transfer.out.resize(rank == 1 ? 1 : 0);
    return transfer;
  }));
  EXPECT_THAT(OutOf(1, 6), ElementsAre(0, 1, 10, 11, 20, 21));
  ASSERT_TRUE(Run([this](int rank) {
    auto transfer = Whole(CommKind::kScatter, 6, 2, ReduceOp::kSum, 2)(rank);
    transfer.in.resize(rank == 2 ? 1 : 0);
    return transfer;
  }));
  EXPECT_THAT(OutOf(0, 2), ElementsAre(20, 21));
}

TEST_F(NcclGroups, ASendMeetsItsReceive) {
  Join(2);
  PutRanks(2);
  const auto pair = [this](int rank) {
    auto transfer = Whole(rank == 0 ? CommKind::kSend : CommKind::kRecv, 2, 2)(rank);
    transfer.peer = rank == 0 ? 2 : 0;
    (rank == 0 ? transfer.out : transfer.in).clear();
    return transfer;
  };
  EXPECT_FALSE(Run(pair, {0}));
  EXPECT_TRUE(Run(pair, {2}));
  EXPECT_THAT(OutOf(2, 2), ElementsAre(0, 1));
  EXPECT_TRUE(members_[0].end->Wait());
}

// Why IsReady comes before Record: the library hands a call to the stream by itself.
TEST_F(NcclGroups, WhatIsRecordedBeforeTheGroupIsReadyIsNotTheEnd) {
  Join(2);
  PutRanks(2);
  const auto transfer_of = Whole(CommKind::kAllReduce, 2, 2);
  for (int rank = 0; rank < kMembers; ++rank) {
    OneMember& member = members_.at(static_cast<std::size_t>(rank));
    ASSERT_TRUE(member.group->Enqueue(transfer_of(rank), *member.stream));
    EXPECT_EQ(*member.group->IsReady(), false);
    ASSERT_TRUE((*member.stream->Record())->Wait());
  }
  EXPECT_THAT(OutOf(0, 2), ElementsAre(0, 0));
  for (OneMember& member : members_) {
    EXPECT_EQ(*member.group->IsReady(), true);
    member.end = *member.stream->Record();
    (void)member.end->IsDone();
  }
  for (OneMember& member : members_) {
    EXPECT_TRUE(member.end->Wait());
  }
  EXPECT_THAT(OutOf(0, 2), ElementsAre(30, 33));
}

TEST_F(NcclGroups, RefusesWhatNcclHasNot) {
  Join(6);
  const auto takes = [this](const std::function<void(reprise::DeviceTransfer&)>& change,
                            CommKind kind = CommKind::kAllReduce) {
    const bool gathers = kind == CommKind::kAllGather;
    auto transfer = Whole(kind, gathers ? 2 : 6, 6)(1);
    change(transfer);
    return transfers_->Takes(transfer, 1, kMembers);
  };
  EXPECT_TRUE(takes([](auto&) {}));
  EXPECT_FALSE(takes([](auto& t) { t.op = ReduceOp::kBxor; }));
  EXPECT_FALSE(takes([](auto& t) { t.dtype = DType::kInt16; }));
  EXPECT_FALSE(takes([](auto& t) { t.dtype = DType::kBool; }));
  EXPECT_FALSE(takes([](auto& t) { t.op = ReduceOp::kAvg, t.dtype = DType::kInt32; }));
  EXPECT_FALSE(takes([](auto& t) { t.kind = CommKind::kBarrier; }));
  EXPECT_FALSE(takes([](auto& t) { t.kind = CommKind::kSend; }));  // no peer
  // Overlapping, but not the same.
  EXPECT_FALSE(takes([](auto& t) {
    t.out[0].buffer = t.in[0].buffer;
    t.in[0].bytes = t.out[0].bytes = 4;
    t.out[0].offset_bytes = 2;
  }));
  // In place as NCCL means it is the own block.
  const auto in_block = [&](int block) {
    return takes(
        [&](auto& t) {
          t.in[0].buffer = t.out[0].buffer;
          t.in[0].offset_bytes = block * t.in[0].bytes;
        },
        CommKind::kAllGather);
  };
  EXPECT_TRUE(in_block(1));
  EXPECT_FALSE(in_block(0));
}

TEST_F(NcclGroups, MembersThatDisagreeAreAnError) {
  Join(2);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(Run([this](int rank) {
    return Whole(CommKind::kAllReduce, rank == 2 ? 1 : 2, rank == 2 ? 1 : 2)(rank);
  }));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("all_reduce of 1 elements of type 7, operation 0, root 0 meets"));
  EXPECT_FALSE(members_[2].group->IsReady());
  EXPECT_FALSE(members_[2].end->Wait());
  for (OneMember& member : members_) {
    member.group->Abort();
  }
}

TEST_F(NcclGroups, AFailureIsAnErrorAndAbortEndsTheRest) {
  setenv("REPRISE_STAND_IN_NCCL_FAULT", "async:2:1", 1);
  Join(2);
  PutRanks(2);
  EXPECT_TRUE(Run(Whole(CommKind::kAllReduce, 2, 2)));
  EXPECT_FALSE(Run(Whole(CommKind::kAllReduce, 2, 2)));
  const auto failed = members_[1].group->IsReady();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::kEnvironment);
  EXPECT_THAT(failed.error().message, HasSubstr("remote process exited"));
  EXPECT_FALSE(members_[0].end->IsDone());
  for (OneMember& member : members_) {
    member.group->Abort();
    EXPECT_FALSE(member.group->IsReady());
    EXPECT_TRUE(member.stream->Finish());
  }
}

TEST_F(NcclGroups, AFailedJoinSaysWhy) {
  setenv("REPRISE_STAND_IN_NCCL_FAULT", "init", 1);
  const auto joined = transfers_->Join(*transfers_->NewIdentity(), 0, 1);
  ASSERT_FALSE(joined);
  EXPECT_THAT(joined.error().message, HasSubstr("member 0 of 1: unhandled system error"));
}

TEST_F(NcclGroups, AnOldLibraryIsRefused) {
  setenv("REPRISE_STAND_IN_NCCL_VERSION", "21304", 1);
  const auto opened = device_->OpenTransfers();
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("NCCL 2.14 or later"));
}

}  // namespace
}  // namespace cuda_stand_in
