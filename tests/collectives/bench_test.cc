#include <gtest/gtest.h>

#include "collectives/bench/collective_bench.h"
#include "tests/collectives/spmd.h"

namespace reprise::testing {
namespace {

BenchOptions Small(CommKind kind) {
  BenchOptions options{.kind = kind};
  options.min_bytes = 8;
  options.max_bytes = 4096;
  options.step_factor = 8;
  options.iterations = 2;
  options.warmup = 1;
  return options;
}

// Rows of rank 0, empty with a failure.
std::vector<BenchRow> RowsOf(int ranks, const BenchOptions& options) {
  std::vector<BenchRow> rows;
  const Status status = OnThreads(ranks, [&](Communicator& communicator) -> Status {
    std::size_t told = 0;
    REPRISE_ASSIGN(const auto mine,
                   RunBench(communicator, options, [&](const BenchRow&) { ++told; }));
    if (told != mine.size()) {
      return CheckFailed("on_row is called once for each row");
    }
    if (communicator.rank() == 0) {
      rows = mine;
    }
    return {};
  });
  EXPECT_TRUE(status) << status.error().message;
  return rows;
}

TEST(Bench, EveryKindRunsAndIsRight) {
  for (const CommKind kind : kCommKinds) {
    if (kind == CommKind::kRecv) {
      continue;  // part of kSend's ring
    }
    const std::vector<BenchRow> rows = RowsOf(3, Small(kind));
    ASSERT_EQ(rows.size(), kind == CommKind::kBarrier ? 1U : 4U) << Name(kind);
    for (const BenchRow& row : rows) {
      EXPECT_EQ(row.out_of_place.wrong, 0) << Name(kind);
      EXPECT_GT(row.out_of_place.time_ns, 0);
      EXPECT_EQ(row.in_place ? row.in_place->wrong : 0, 0) << Name(kind);
    }
  }
}

TEST(Bench, SizesAreWholeBlocksAndRatesFollowTheirDefinition) {
  const std::vector<BenchRow> gather = RowsOf(3, Small(CommKind::kAllGather));
  ASSERT_EQ(gather.size(), 4U);
  EXPECT_EQ(gather[0].bytes, 0);  // 8 bytes hold no float for each of 3 ranks
  EXPECT_EQ(gather[3].bytes, 4092);
  EXPECT_EQ(gather[3].count, 341);
  const BenchTiming& timing = gather[3].out_of_place;
  EXPECT_DOUBLE_EQ(timing.algbw_gb_per_s, 4092.0 / static_cast<double>(timing.time_ns));
  EXPECT_DOUBLE_EQ(timing.busbw_gb_per_s, timing.algbw_gb_per_s * 2 / 3);
  EXPECT_FALSE(gather[3].op);

  BenchOptions options = Small(CommKind::kAllReduce);
  options.dtypes = {DType::kInt8, DType::kBFloat16};
  options.ops = {ReduceOp::kSum, ReduceOp::kBand};  // no band of bfloat16: left out
  options.step_factor = 1;
  options.step_bytes = 2044;
  options.check = false;
  const std::vector<BenchRow> rows = RowsOf(2, options);
  ASSERT_EQ(rows.size(), 3U * 3U);
  EXPECT_EQ(rows[1].bytes, 2052);
  EXPECT_EQ(rows[0].out_of_place.wrong, -1);
  EXPECT_EQ(rows.back().dtype, DType::kBFloat16);
}

TEST(Bench, RefusesWhatMakesNoSense) {
  BenchOptions options = Small(CommKind::kAllReduce);
  EXPECT_TRUE(ValidateBench(options, 2));
  options.root = 2;
  EXPECT_FALSE(ValidateBench(options, 2));
  options = Small(CommKind::kSend);
  EXPECT_FALSE(ValidateBench(options, 1));
  options = Small(CommKind::kReduce);
  options.ops = {ReduceOp::kBxor};
  EXPECT_FALSE(ValidateBench(options, 2));
  options = Small(CommKind::kReduce);
  options.max_bytes = 4;
  EXPECT_FALSE(ValidateBench(options, 2));
  options = Small(CommKind::kReduce);
  options.step_factor = 1;
  options.step_bytes = 0;
  EXPECT_FALSE(ValidateBench(options, 2));
}

}  // namespace
}  // namespace reprise::testing
