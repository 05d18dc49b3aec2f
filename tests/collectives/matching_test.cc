#include "collectives/matching/matching.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprise {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Plans = std::vector<std::vector<PlannedTransfer>>;

std::vector<std::int32_t> Ranks(const std::string& group) {
  if (group == "0") {
    return {0, 1, 2};
  }
  if (group == "tp") {
    return {0, 1};
  }
  return {};
}

CommSpec AllReduce(std::int64_t bytes, const std::string& group = "0") {
  return {.kind = CommKind::kAllReduce,
          .group = group,
          .dtype = DType::kFloat32,
          .in_bytes = bytes,
          .out_bytes = bytes};
}
CommSpec Send(std::int32_t peer, std::int64_t bytes) {
  return {.kind = CommKind::kSend, .group = "0", .in_bytes = bytes, .peer = peer};
}
CommSpec Recv(std::int32_t peer, std::int64_t bytes) {
  return {.kind = CommKind::kRecv, .group = "0", .out_bytes = bytes, .peer = peer};
}

// Node ids tell ranks apart: 100 × rank + position.
Plans PlansOf(const std::vector<std::vector<CommSpec>>& specs) {
  Plans plans;
  for (std::size_t rank = 0; rank < specs.size(); ++rank) {
    plans.emplace_back();
    for (std::size_t i = 0; i < specs[rank].size(); ++i) {
      plans.back().push_back({.node_id = 100 * rank + i, .spec = specs[rank][i]});
    }
  }
  return plans;
}

std::string Mismatch(const std::vector<std::vector<CommSpec>>& specs) {
  const Status status = MatchTransfers(PlansOf(specs), Ranks);
  if (status) {
    return "";
  }
  EXPECT_EQ(status.error().kind, ErrorKind::kBadInput);
  return status.error().message;
}

TEST(MatchTransfers, FitsAcrossGroupsInAnyOrderBetweenThem) {
  EXPECT_EQ(Mismatch({{AllReduce(8), AllReduce(4, "tp"), Send(2, 16)},
                      {AllReduce(4, "tp"), AllReduce(8)},
                      {Recv(0, 16), AllReduce(8)}}),
            "");
  EXPECT_EQ(Mismatch({{}, {}, {}}), "");
}

TEST(MatchTransfers, NamesBothNodesAndWhatDiffers) {
  const std::string size = Mismatch({{AllReduce(4096)}, {AllReduce(4096)}, {AllReduce(8192)}});
  EXPECT_THAT(size, AllOf(HasSubstr("group '0', collective 0"), HasSubstr("in_bytes 4096 vs 8192"),
                          HasSubstr("rank 0 node 0"), HasSubstr("rank 2 node 200")));

  std::vector<CommSpec> ops(3, AllReduce(8));
  for (CommSpec& spec : ops) {
    spec.op_recorded = true;
  }
  ops[1].op = ReduceOp::kMax;
  EXPECT_THAT(Mismatch({{ops[0]}, {ops[1]}, {ops[2]}}), HasSubstr("op sum vs max"));
  ops[1].op_recorded = false;  // not recorded: cannot contradict
  EXPECT_EQ(Mismatch({{ops[0]}, {ops[1]}, {ops[2]}}), "");
  ops[2].dtype = DType::kBFloat16;
  EXPECT_THAT(Mismatch({{ops[0]}, {ops[1]}, {ops[2]}}), HasSubstr("dtype float32 vs bfloat16"));

  std::vector<CommSpec> roots(
      3, {.kind = CommKind::kBroadcast, .group = "0", .in_bytes = 8, .out_bytes = 8, .root = 0});
  roots[2].root = 1;
  EXPECT_THAT(Mismatch({{roots[0]}, {roots[1]}, {roots[2]}}), HasSubstr("root 0 vs 1"));
}

TEST(MatchTransfers, MissingCounterparts) {
  EXPECT_THAT(
      Mismatch({{AllReduce(8), AllReduce(8)}, {AllReduce(8), AllReduce(8)}, {AllReduce(8)}}),
      AllOf(HasSubstr("rank 0 node 1"), HasSubstr("no counterpart on rank 2"),
            HasSubstr("which has 1")));
  EXPECT_THAT(Mismatch({{Send(1, 8)}, {}, {}}),
              AllOf(HasSubstr("from rank 0 to rank 1"), HasSubstr("no recv on rank 1")));
  EXPECT_THAT(Mismatch({{}, {Recv(0, 8)}, {}}), HasSubstr("no send on rank 0"));
  EXPECT_THAT(Mismatch({{Send(1, 8)}, {Recv(0, 12)}, {}}), HasSubstr("bytes 8 vs 12"));
}

TEST(MatchTransfers, ExplainsOrderAndTellsEachSequenceOnce) {
  const CommSpec barrier{.kind = CommKind::kBarrier, .group = "0"};
  const std::string swapped = Mismatch({{AllReduce(8), barrier, AllReduce(8)},
                                        {barrier, AllReduce(8), AllReduce(8)},
                                        {AllReduce(8), barrier, AllReduce(8)}});
  EXPECT_THAT(swapped, AllOf(HasSubstr("all_reduce vs barrier"), HasSubstr("the order differs"),
                             HasSubstr("the 2 that follow")));
  const std::string extra = Mismatch({{AllReduce(8), AllReduce(16)},
                                      {barrier, AllReduce(8), AllReduce(16)},
                                      {AllReduce(8), AllReduce(16)}});
  EXPECT_THAT(extra, HasSubstr("rank 1 fits again from 1 on"));
}

TEST(MatchTransfers, UnevenBlocksFitInPairs) {
  CommSpec a{.kind = CommKind::kAllToAll,
             .group = "tp",
             .dtype = DType::kInt8,
             .in_bytes = 5,
             .out_bytes = 4,
             .in_splits = {2, 3},
             .out_splits = {2, 2}};
  CommSpec b{.kind = CommKind::kAllToAll,
             .group = "tp",
             .dtype = DType::kInt8,
             .in_bytes = 3,
             .out_bytes = 4,
             .in_splits = {2, 1},
             .out_splits = {3, 1}};
  EXPECT_EQ(Mismatch({{a}, {b}, {}}), "");
  b.out_splits = {2, 2};
  EXPECT_THAT(Mismatch({{a}, {b}, {}}), HasSubstr("elements from rank 0 to rank 1: 3 vs 2"));
  b.out_splits = {3, 2};  // fits its partner but not its own buffer
  EXPECT_THAT(Mismatch({{a}, {b}, {}}), Not(HasSubstr("vs no splits")));
  b.in_splits.clear();
  b.out_splits.clear();
  b.in_bytes = b.out_bytes = 4;
  EXPECT_THAT(Mismatch({{a}, {b}, {}}), HasSubstr("splits vs no splits"));
}

TEST(MatchTransfers, MembersOnly) {
  EXPECT_THAT(Mismatch({{AllReduce(8, "tp")}, {AllReduce(8, "tp")}, {AllReduce(8, "tp")}}),
              HasSubstr("rank 2 is not in group 'tp'"));
  EXPECT_THAT(Mismatch({{AllReduce(8, "dp")}, {}, {}}),
              AllOf(HasSubstr("group 'dp' is unknown"), HasSubstr("node 0 of rank 0")));
  CommSpec outside = Send(2, 8);
  outside.group = "tp";
  EXPECT_THAT(Mismatch({{outside}, {}, {}}), HasSubstr("not both members"));
  const auto too_many = [](const std::string&) { return std::vector<std::int32_t>{0, 1, 2, 3}; };
  const Status status = MatchTransfers(PlansOf({{AllReduce(8)}, {}, {}}), too_many);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("beyond the 3 of this run"));
}

TEST(MatchTransfers, ManyMismatchesAreCounted) {
  std::vector<CommSpec> sends;
  const auto any = [](const std::string&) { return std::vector<std::int32_t>{0, 1, 2}; };
  for (int i = 0; i < 30; ++i) {
    sends.push_back(Send(1, 8));
    sends.back().group = std::to_string(i);
  }
  const Status status = MatchTransfers(PlansOf({sends, {}, {}}), any);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("10 more sequences"));
}

TEST(CompleteSplits, MakesEvenMembersOfAnUnevenExchangeFit) {
  CommSpec a{.kind = CommKind::kAllToAll,
             .group = "tp",
             .dtype = DType::kInt8,
             .in_bytes = 4,
             .out_bytes = 4};
  CommSpec b = a;
  b.in_splits = {2, 2};
  Plans plans = PlansOf({{a}, {b}, {}});
  EXPECT_FALSE(MatchTransfers(plans, Ranks));
  CompleteSplits(plans, Ranks);
  EXPECT_TRUE(MatchTransfers(plans, Ranks));
  EXPECT_EQ(plans[0][0].spec.in_splits, (std::vector<std::int64_t>{2, 2}));
}

TEST(CompleteSplits, LeavesEvenAndContradictingOnesAlone) {
  Plans plans = PlansOf({{AllReduce(8)}, {AllReduce(8)}, {Send(0, 4)}});
  const Plans before = plans;
  CompleteSplits(plans, Ranks);
  EXPECT_EQ(plans, before);
}

// Of members that do the same the first says what all say; what depends on the place is told apart.
TEST(MatchAlike, SaysWhatAllMembersWould) {
  const auto gather = [](std::int64_t all) {
    return CommSpec{.kind = CommKind::kAllGather, .group = "0", .in_bytes = 8, .out_bytes = all};
  };
  const CommSpec broadcast{
      .kind = CommKind::kBroadcast, .group = "0", .in_bytes = 8, .out_bytes = 8, .root = 1};
  const auto all = [](const std::string&) { return std::vector<std::int32_t>{0, 1, 2, 3}; };
  struct Case {
    std::vector<CommSpec> first, second;
    const char* wrong;
  };
  const Case cases[] = {{{AllReduce(8), gather(32)}, {AllReduce(8), gather(32)}, ""},
                        {{gather(24)}, {gather(24)}, "x 4 ranks: 24 against 32"},
                        {{broadcast}, {broadcast}, ""},
                        {{AllReduce(8)}, {AllReduce(16)}, "in_bytes 8 vs 16"},
                        {{AllReduce(8), AllReduce(8)}, {AllReduce(8)}, "no counterpart on rank 1"},
                        {{AllReduce(8)}, {}, "no counterpart on rank 1"},
                        {{}, {}, ""}};
  for (const Case& one : cases) {
    const Plans plans = PlansOf({one.first, one.second, one.first, one.second});
    const PlansOfSome some = {{0, &plans[0]}, {1, &plans[1]}};
    EXPECT_FALSE(DependOnPosition(some));
    for (const Status& status : {MatchAlike(some, 4), MatchTransfers(plans, all)}) {
      EXPECT_THAT(status ? "" : status.error().message, HasSubstr(one.wrong));
      EXPECT_EQ(status.has_value(), *one.wrong == '\0');
    }
  }
  CommSpec other = gather(32);
  other.in_bytes = 4;
  CommSpec splits{.kind = CommKind::kAllToAll, .group = "0", .in_splits = {1, 2, 1, 0}};
  for (const CommSpec& spec : {Send(1, 8), Recv(0, 8), splits, other}) {
    const Plans plans = PlansOf({{gather(32)}, {spec}});
    EXPECT_TRUE(DependOnPosition({{0, &plans[0]}, {1, &plans[1]}}));
  }
}

}  // namespace
}  // namespace reprise
