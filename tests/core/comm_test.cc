#include "core/comm.h"

#include <gtest/gtest.h>

namespace reprise {
namespace {

TEST(Comm, ParsesTheSpellingsOfEveryLayer) {
  EXPECT_EQ(ParseCommKind("c10d::allreduce_"), CommKind::kAllReduce);
  EXPECT_EQ(ParseCommKind("gloo:all_reduce"), CommKind::kAllReduce);
  EXPECT_EQ(ParseCommKind("c10d::_reduce_scatter_base_"), CommKind::kReduceScatter);
  EXPECT_EQ(ParseCommKind("c10d::_allgather_base_"), CommKind::kAllGather);
  EXPECT_EQ(ParseCommKind("c10d::alltoall_base_"), CommKind::kAllToAll);
  EXPECT_EQ(ParseCommKind("c10d::reduce_"), CommKind::kReduce);
  EXPECT_EQ(ParseCommKind("c10d::scatter_"), CommKind::kScatter);
  EXPECT_EQ(ParseCommKind("c10d::recv_"), CommKind::kRecv);
  EXPECT_EQ(ParseCommKind("_c10d_functional::all_to_all_single"), CommKind::kAllToAll);
  EXPECT_EQ(ParseCommKind("ncclDevKernel_AllReduce_Sum_f32_RING_LL"), CommKind::kAllReduce);
  EXPECT_EQ(ParseCommKind("aten::mm"), std::nullopt);
  for (int i = 0; i <= static_cast<int>(CommKind::kRecv); ++i) {
    EXPECT_EQ(ParseCommKind(Name(static_cast<CommKind>(i))), static_cast<CommKind>(i));
  }
}

// nccl-tests doc/PERFORMANCE.md: the factors between algbw and busbw.
TEST(Comm, BusFactors) {
  EXPECT_DOUBLE_EQ(BusFactor(CommKind::kAllReduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(BusFactor(CommKind::kAllGather, 4), 0.75);
  EXPECT_DOUBLE_EQ(BusFactor(CommKind::kReduceScatter, 2), 0.5);
  EXPECT_DOUBLE_EQ(BusFactor(CommKind::kAllToAll, 8), 0.875);
  EXPECT_DOUBLE_EQ(BusFactor(CommKind::kBroadcast, 8), 1.0);
  EXPECT_DOUBLE_EQ(BusFactor(CommKind::kSend, 2), 1.0);
}

TEST(Comm, AlgorithmBytesAreTheWholeBuffer) {
  CommSpec spec;
  spec.kind = CommKind::kAllGather;
  spec.in_bytes = 100;
  spec.out_bytes = 400;
  EXPECT_EQ(AlgorithmBytes(spec, 4), 400);
  spec.kind = CommKind::kReduceScatter;
  spec.in_bytes = 400;
  spec.out_bytes = 100;
  EXPECT_EQ(AlgorithmBytes(spec, 4), 400);
  spec.kind = CommKind::kAllReduce;
  spec.in_bytes = spec.out_bytes = 64;
  EXPECT_EQ(AlgorithmBytes(spec, 4), 64);
  // The same on the root, which has all, and on the others.
  for (const std::int64_t of_root : {0, 400}) {
    spec.kind = CommKind::kGather;
    spec.in_bytes = 100;
    spec.out_bytes = of_root;
    EXPECT_EQ(AlgorithmBytes(spec, 4), 400);
    spec.kind = CommKind::kScatter;
    spec.in_bytes = of_root;
    spec.out_bytes = 100;
    EXPECT_EQ(AlgorithmBytes(spec, 4), 400);
  }
}

}  // namespace
}  // namespace reprise
