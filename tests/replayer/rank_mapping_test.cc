#include "replayer/plan/rank_mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <thread>

#include "collectives/matching/matching.h"
#include "kernels/kernel.h"
#include "replayer/engine/replay_options.h"
#include "replayer/plan/group_sizes.h"
#include "replayer/plan/part.h"
#include "replayer/plan/plan.h"
#include "tests/replayer/small_trace.h"

namespace reprise {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kFloat = 4;
using Plans = std::vector<std::vector<PlannedTransfer>>;

// Eight ranks: all, pairs, and a group of its own for rank 3.
TraceSet EightRanks() {
  TraceSet set;
  set.world_size = 8;
  std::vector<std::int32_t> all(8);
  std::iota(all.begin(), all.end(), 0);
  for (const std::int32_t rank : all) {
    set.files[rank] = "unused";
  }
  set.groups["0"] = {"0", "default_pg", all};
  set.groups["1"] = {"1", "tp", {2, 6}};
  set.groups["2"] = {"2", "pp", {4, 5}};
  set.groups["3"] = {"3", "own", {3}};
  return set;
}

RankMapping Mapped(const PartOptions& part, int size = 0) {
  ReplayOptions options;
  options.part = part;
  auto mapping = MapRanks(EightRanks(), options, size);
  EXPECT_TRUE(mapping) << mapping.error().message;
  return *mapping;
}

// A collective as the recorded ranks took part in it; blocks are floats, uneven if told so.
CommSpec Recorded(CommKind kind, std::int32_t rank, bool uneven) {
  constexpr std::int32_t kRanks = 8;
  const auto block = [uneven](std::int32_t from, std::int32_t to) -> std::int64_t {
    return uneven ? 10 + from + 3 * to : 24;
  };
  CommSpec spec;
  spec.kind = kind;
  spec.group = "0";
  spec.dtype = DType::kFloat32;
  spec.root = 1;
  const bool root = rank == spec.root;
  std::int64_t whole = 0;
  std::vector<std::int64_t> blocks;
  std::vector<std::int64_t> given;
  std::vector<std::int64_t> got;
  for (std::int32_t other = 0; other < kRanks; ++other) {
    blocks.push_back(block(other, 0));
    given.push_back(block(rank, other));
    got.push_back(block(other, rank));
    whole += blocks.back();
  }
  const std::int64_t own = blocks[static_cast<std::size_t>(rank)];
  switch (kind) {
    case CommKind::kAllGather:
    case CommKind::kGather:
      spec.in_bytes = own * kFloat;
      spec.out_bytes = kind == CommKind::kAllGather || root ? whole * kFloat : 0;
      spec.out_splits = uneven ? blocks : std::vector<std::int64_t>{};
      break;
    case CommKind::kReduceScatter:
    case CommKind::kScatter:
      spec.out_bytes = own * kFloat;
      spec.in_bytes = kind == CommKind::kReduceScatter || root ? whole * kFloat : 0;
      spec.in_splits = uneven ? blocks : std::vector<std::int64_t>{};
      break;
    case CommKind::kAllToAll:
      spec.in_bytes = std::accumulate(given.begin(), given.end(), std::int64_t{0}) * kFloat;
      spec.out_bytes = std::accumulate(got.begin(), got.end(), std::int64_t{0}) * kFloat;
      spec.in_splits = uneven ? given : std::vector<std::int64_t>{};
      spec.out_splits = uneven ? got : std::vector<std::int64_t>{};
      break;
    default:
      spec.in_bytes = 1000 * kFloat;
      spec.out_bytes = kind == CommKind::kReduce && !root ? 0 : spec.in_bytes;
  }
  return spec;
}

// What every rank makes of its own plan, on a thread each; the first error, if any.
using Stage = std::function<Status(GroupRounds&, std::vector<PlannedTransfer>&)>;
Status Across(const RankMapping& mapping, Plans& plans, const Stage& stage) {
  auto communicators = CreateLocalCommunicators(static_cast<int>(plans.size()));
  std::vector<Status> outcomes(plans.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < plans.size(); ++rank) {
    threads.emplace_back([&, rank] {
      std::vector<std::unique_ptr<GroupComm>> comms;
      std::vector<GroupMember> members;
      for (const auto& [id, group] : mapping.groups) {
        auto comm = communicators[rank]->CreateGroup(group.ranks);
        if (comm && *comm != nullptr) {
          members.push_back({id, {.ranks = group.ranks, .rank = (*comm)->rank()}, comm->get()});
          comms.push_back(std::move(*comm));
        }
      }
      GroupRounds rounds(*communicators[rank], std::move(members));
      outcomes[rank] = stage(rounds, plans[rank]);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const Status& outcome : outcomes) {
    EXPECT_EQ(outcome.has_value(), outcomes.front().has_value());
    EXPECT_EQ(outcome ? "" : outcome.error().message,
              outcomes.front() ? "" : outcomes.front().error().message);
  }
  return outcomes.front();
}

Plans Replayed(const RankMapping& mapping, CommKind kind, bool uneven) {
  Plans plans;
  for (std::size_t rank = 0; rank < mapping.replayed.size(); ++rank) {
    CommSpec spec = Recorded(kind, mapping.replayed[rank], uneven);
    spec.outside = !MapTransfer(mapping, static_cast<std::int32_t>(rank), spec);
    plans.push_back({{rank + 10, spec}});
  }
  Plans apart = plans;
  FitSizes(plans, mapping);
  const RanksOfGroup ranks_of = [&](const std::string& id) { return mapping.RanksOf(id); };
  CompleteSplits(plans, ranks_of);
  const Status matched = MatchTransfers(plans, ranks_of);
  EXPECT_TRUE(matched) << Name(kind) << ": " << matched.error().message;
  EXPECT_TRUE(Across(mapping, apart, [&](GroupRounds& rounds, auto& mine) {
    return AgreeOnTransfersAcross(rounds, mapping, {}, mine);
  }));
  EXPECT_EQ(apart, plans) << Name(kind);
  return plans;
}

constexpr CommKind kCollectives[] = {
    CommKind::kAllReduce, CommKind::kReduce,    CommKind::kAllGather,     CommKind::kGather,
    CommKind::kScatter,   CommKind::kBroadcast, CommKind::kReduceScatter, CommKind::kAllToAll};

TEST(RankMapping, EveryCollectiveFitsEverySubset) {
  for (const GroupSizes sizes : {GroupSizes::kKeep, GroupSizes::kScale}) {
    for (const std::vector<std::int32_t>& ranks :
         std::vector<std::vector<std::int32_t>>{{1}, {0, 1, 2}, {6, 1, 3, 0, 7}, {1, 5}, {4, 5}}) {
      for (const CommKind kind : kCollectives) {
        for (const bool uneven : {false, true}) {
          Replayed(Mapped({.ranks = ranks, .group_sizes = sizes}), kind, uneven);
        }
      }
    }
  }
}

TEST(RankMapping, EveryCollectiveFitsOneTraceOnAnyNumberOfRanks) {
  for (const GroupSizes sizes : {GroupSizes::kKeep, GroupSizes::kScale}) {
    for (const int size : {1, 3, 16}) {
      for (const std::int32_t trace_rank : {1, 5}) {  // a root, and one that is none
        for (const CommKind kind : kCollectives) {
          for (const bool uneven : {false, true}) {
            Replayed(
                Mapped({.one_trace = true, .trace_rank = trace_rank, .group_sizes = sizes}, size),
                kind, uneven);
          }
        }
      }
    }
  }
}

TEST(RankMapping, KeepHoldsTheWholeAndScaleTheBlock) {
  const std::vector<std::int32_t> ranks = {0, 1, 2, 5, 6};
  const auto sizes = [&](CommKind kind, GroupSizes how) {
    const CommSpec spec =
        Replayed(Mapped({.ranks = ranks, .group_sizes = how}), kind, false)[0][0].spec;
    return std::pair(spec.in_bytes / kFloat, spec.out_bytes / kFloat);
  };
  using Pair = std::pair<std::int64_t, std::int64_t>;
  // Recorded: 24 a member, 192 in all; 192 / 5 = 38.
  EXPECT_EQ(sizes(CommKind::kAllGather, GroupSizes::kKeep), Pair(38, 190));
  EXPECT_EQ(sizes(CommKind::kAllGather, GroupSizes::kScale), Pair(24, 120));
  EXPECT_EQ(sizes(CommKind::kReduceScatter, GroupSizes::kKeep), Pair(190, 38));
  EXPECT_EQ(sizes(CommKind::kReduceScatter, GroupSizes::kScale), Pair(120, 24));
  EXPECT_EQ(sizes(CommKind::kAllToAll, GroupSizes::kKeep), Pair(190, 190));
  EXPECT_EQ(sizes(CommKind::kAllToAll, GroupSizes::kScale), Pair(120, 120));
  EXPECT_EQ(sizes(CommKind::kAllReduce, GroupSizes::kKeep), Pair(1000, 1000));
  EXPECT_EQ(sizes(CommKind::kAllReduce, GroupSizes::kScale), Pair(1000, 1000));
}

TEST(RankMapping, UnevenSplitsLoseTheRowsOfWhoIsGone) {
  const Plans plans = Replayed(Mapped({.ranks = {2, 0, 5}}), CommKind::kAllToAll, true);
  // Rank 0 of the run was recorded as 2: 12 + 3 × to, for 0, 2 and 5 in the group's order.
  EXPECT_THAT(plans[0][0].spec.in_splits, ElementsAre(12, 18, 27));
  EXPECT_THAT(plans[0][0].spec.out_splits, ElementsAre(16, 18, 21));
  EXPECT_EQ(plans[0][0].spec.in_bytes, 57 * kFloat);
}

TEST(RankMapping, MixedEvenAndUnevenAllToAll) {
  const RankMapping mapping = Mapped({.ranks = {0, 1}});
  Plans plans;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    CommSpec spec = Recorded(CommKind::kAllToAll, rank, false);
    if (rank == 1) {  // gives unevenly to those that are gone
      spec.in_splits = {24, 24, 1, 47, 24, 24, 24, 24};
      spec.out_splits.assign(8, 24);
    }
    plans.push_back({{1, spec}});
  }
  FitSizes(plans, mapping);
  EXPECT_EQ(plans[0][0].spec.in_bytes, 48 * kFloat);
  EXPECT_THAT(plans[0][0].spec.in_splits, ElementsAre(24, 24));
  EXPECT_TRUE(MatchTransfers(plans, [&](const auto& id) { return mapping.RanksOf(id); }));
}

TEST(RankMapping, GroupsKeepChosenMembersInTheirOrder) {
  const RankMapping mapping = Mapped({.ranks = {6, 2, 4}});
  EXPECT_THAT(mapping.RanksOf("0"), ElementsAre(1, 2, 0));  // recorded 2, 4, 6
  EXPECT_THAT(mapping.RanksOf("1"), ElementsAre(1, 0));
  EXPECT_THAT(mapping.RanksOf("2"), ElementsAre(2));
  EXPECT_THAT(mapping.RanksOf("3"), IsEmpty());
  EXPECT_TRUE(mapping.changes);
  EXPECT_FALSE(Mapped({}).changes);
}

TEST(RankMapping, OneTraceSpreadsGroupsAndKeepsGroupsOfOne) {
  const RankMapping mapping = Mapped({.one_trace = true, .trace_rank = 3}, 2);
  EXPECT_THAT(mapping.RanksOf("0"), ElementsAre(0, 1));
  EXPECT_THAT(mapping.RanksOf("3 of rank 1"), ElementsAre(1));
  CommSpec spec = AllReduceSpec(64);
  spec.group = "3";
  ASSERT_TRUE(MapTransfer(mapping, 1, spec));
  EXPECT_EQ(spec.group, "3 of rank 1");
  spec.group = "1";  // recorded rank 3 is no member
  EXPECT_FALSE(MapTransfer(mapping, 1, spec));
  spec.group = "0";
  spec.certainty = GroupCertainty::kUnknown;
  EXPECT_FALSE(MapTransfer(mapping, 1, spec));
}

TEST(RankMapping, WhoeverIsOutsideIsNotWaitedFor) {
  const RankMapping mapping = Mapped({.ranks = {2, 4}});
  const auto maps = [&](CommKind kind, std::int32_t root, std::int32_t peer) {
    CommSpec spec = AllReduceSpec(64);
    spec.kind = kind;
    spec.root = root;
    spec.peer = peer;
    const bool inside = MapTransfer(mapping, 0, spec);
    return std::tuple(inside, spec.root, spec.peer);
  };
  EXPECT_EQ(maps(CommKind::kSend, -1, 4), std::tuple(true, -1, 1));
  EXPECT_EQ(maps(CommKind::kRecv, -1, 5), std::tuple(false, -1, 5));
  EXPECT_EQ(maps(CommKind::kBroadcast, 2, -1), std::tuple(true, 0, -1));
  EXPECT_EQ(maps(CommKind::kBroadcast, 0, -1), std::tuple(false, 0, -1));
  EXPECT_EQ(maps(CommKind::kAllReduce, -1, -1), std::tuple(true, -1, -1));
}

TEST(RankMapping, RewriteForMarksAndCountsTransfersToTheOutside) {
  ThreadTrace trace;
  CommSpec spec = AllReduceSpec(64);
  spec.kind = CommKind::kSend;
  spec.peer = 7;
  trace.AddTransfer(spec, TensorValue(0, {16}));
  trace.AddTransfer(AllReduceSpec(64), TensorValue(0, {16}));
  auto graph = Graph::Build(trace.Metadata(2, 8), trace.nodes);
  ASSERT_TRUE(graph);
  Diagnostics diagnostics;
  const auto replayed = RewriteFor(*graph, Mapped({.ranks = {4, 2}}), 1, diagnostics);
  ASSERT_TRUE(replayed);
  EXPECT_EQ(replayed->metadata().rank, 1);
  EXPECT_EQ(diagnostics.CountOf("transfer_outside"), 1U);
  const auto plan = BuildPlan(*replayed, {}, FindBuiltinKernel);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->transfers.size(), 2U);
  const Work& send = plan->work[plan->transfers[0]];
  EXPECT_TRUE(send.alone);
  EXPECT_TRUE(send.counts);
  EXPECT_EQ(send.mode, ReplayMode::kTimed);
  EXPECT_EQ(send.host_ns, 200'000);
  EXPECT_FALSE(plan->work[plan->transfers[1]].alone);
}

TEST(RankMapping, OneSideOfATransferIsRefused) {
  const RankMapping mapping = Mapped({.ranks = {2, 6}});
  Plans plans(2);
  plans[0] = {{17, AllReduceSpec(64, 0)}, {18, AllReduceSpec(64, 1)}};
  plans[1] = {{27, AllReduceSpec(64, 1)}, {28, AllReduceSpec(64, 2)}};
  const auto refused = [&] {
    const Status together = CheckSameTransfers(plans, mapping);
    const Status apart = Across(mapping, plans, [](GroupRounds& rounds, const auto& mine) {
      return CheckSameTransfersAcross(rounds, mine);
    });
    EXPECT_EQ(apart ? "" : apart.error().message, together ? "" : together.error().message);
    return together ? std::string() : together.error().message;
  };
  EXPECT_THAT(refused(), AllOf(HasSubstr("all_reduce #0"), HasSubstr("node 17")));
  plans[1].insert(plans[1].begin(), {26, AllReduceSpec(64, 0)});
  EXPECT_THAT(refused(), AllOf(HasSubstr("all_reduce #2"), HasSubstr("node 28")));
  plans[1].pop_back();
  EXPECT_EQ(refused(), "");
  CommSpec send = AllReduceSpec(64, 3);
  send.kind = CommKind::kSend;
  send.peer = 1;
  plans[0].push_back({19, send});
  EXPECT_THAT(refused(), AllOf(HasSubstr("send #3"), HasSubstr("not in what rank 1 replays")));
}

}  // namespace
}  // namespace reprise
