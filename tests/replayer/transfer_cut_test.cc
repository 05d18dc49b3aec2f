// Which transfers are cut, and how.
#include <gtest/gtest.h>

#include "replayer/engine/pipelined_transfer.h"
#include "tests/replayer/staging_fixture.h"

namespace reprise::testing {
namespace {

constexpr std::int64_t kMib = 1 << 20;

TEST(CutOf, ChunksHoldAllBlocksAndPiecesAreNotTiny) {
  const CommSpec spec = BlockSpec(CommKind::kAllGather, DType::kInt32, 64 * kMib, 0, 8);
  const auto cut = CutOf(spec, 8, 4 * kMib);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->in_blocks, 1);
  EXPECT_EQ(cut->out_blocks, 8);
  EXPECT_EQ(cut->block_bytes, 64 * kMib);
  EXPECT_EQ(cut->step_bytes, 4 * kMib / 8);
  EXPECT_EQ(CutOf(spec, 1024, 4 * kMib)->step_bytes, kMinPieceBytes);
  EXPECT_EQ(CutOf(spec, 1024, 4096)->step_bytes, 4096);
  EXPECT_EQ(CutOf(spec, 8, 4095)->step_bytes, 4092);  // whole elements
  EXPECT_EQ(CutOf(spec, 8, 3)->step_bytes, 4);        // at least one
}

TEST(CutOf, WhatIsNotLongerThanAChunkIsMovedWhole) {
  CommSpec spec{.kind = CommKind::kBroadcast, .group = "", .out_bytes = 100};
  EXPECT_TRUE(CutOf(spec, 2, 99));
  EXPECT_FALSE(CutOf(spec, 2, 100));
  EXPECT_FALSE(CutOf(spec, 2, 0));
  for (const CommKind kind : kBlockKinds) {
    spec = BlockSpec(kind, DType::kUInt8, 100, kRoot, 3);
    EXPECT_TRUE(CutOf(spec, 3, 99));
    EXPECT_FALSE(CutOf(spec, 3, 100));
    EXPECT_FALSE(CutOf(BlockSpec(kind, DType::kUInt8, 0, kRoot, 3), 3, 1));
  }
  EXPECT_FALSE(CutOf({.kind = CommKind::kBarrier, .group = ""}, 2, 1));
}

TEST(CutOf, UnequalBlocksAreMovedWhole) {
  CommSpec spec = BlockSpec(CommKind::kAllGather, DType::kUInt8, 100, 0, 2);
  spec.out_splits = {100, 100};
  EXPECT_TRUE(CutOf(spec, 2, 50));
  spec.out_splits = {100, 99};
  EXPECT_FALSE(CutOf(spec, 2, 50));
  spec = BlockSpec(CommKind::kAllToAll, DType::kUInt8, 100, 0, 2);
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
