// Which process group a transfer belongs to: as recorded, or the one assignment that fits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "converters/pytorch/groups/group_inference.h"
#include "converters/pytorch/groups/group_table.h"
#include "converters/pytorch/host/process_groups.h"

namespace reprise::pytorch {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// Transfers with storage for their arguments.
class Sketch {
 public:
  Sketch& Collective(std::int32_t rank, std::int64_t worker, std::int64_t start_us,
                     std::int64_t bytes, std::int32_t group_size = -1) {
    const CommKind kind = group_size < 0 ? CommKind::kAllReduce : CommKind::kAllGather;
    CommArguments arguments;
    arguments.group_size = group_size;
    arguments.spec.kind = kind;
    arguments.spec.in_bytes = arguments.spec.out_bytes = bytes;
    return Add(rank, worker, start_us, std::move(arguments));
  }
  Sketch& PointToPoint(std::int32_t rank, CommKind kind, std::int32_t peer, std::int64_t start_us,
                       std::int64_t bytes = 64) {
    CommArguments arguments;
    arguments.spec.kind = kind;
    (kind == CommKind::kSend ? arguments.spec.in_bytes : arguments.spec.out_bytes) = bytes;
    arguments.group_peer = peer;
    return Add(rank, -1, start_us, std::move(arguments));
  }
  [[nodiscard]] std::vector<int> Infer(const std::vector<ProcessGroup>& groups,
                                       const std::vector<std::int32_t>& captured,
                                       std::vector<std::size_t> twins = {}) const {
    twins.resize(groups.size());
    return InferGroups(transfers_, groups, twins, captured);
  }

 private:
  Sketch& Add(std::int32_t rank, std::int64_t worker, std::int64_t start_us,
              CommArguments arguments) {
    arguments_.push_back(std::move(arguments));
    transfers_.push_back({.rank = rank,
                          .worker = worker,
                          .start_ns = start_us * 1000,
                          .end_ns = start_us * 1000 + 50'000,
                          .arguments = &arguments_.back()});
    return *this;
  }

  std::deque<CommArguments> arguments_;
  std::vector<InferenceTransfer> transfers_;
};

const ProcessGroup kWorld{.id = "0", .description = "default_pg", .ranks = {0, 1, 2, 3}};
const ProcessGroup kLow{.id = "1", .description = "low", .ranks = {0, 1}};
const ProcessGroup kHigh{.id = "2", .description = "high", .ranks = {2, 3}};

TEST(InferGroups, OnlyOneGroup) {
  Sketch sketch;
  for (const std::int32_t rank : {0, 1, 2, 3}) {
    sketch.Collective(rank, 10 + rank, 100, 64);
  }
  EXPECT_THAT(sketch.Infer({kWorld}, {0, 1, 2, 3}), Each(0));
}

// An all_gather's buffers tell the size of its group, and what runs on one thread is of one group.
TEST(InferGroups, BySizeAndThread) {
  Sketch sketch;
  for (const std::int32_t rank : {0, 1, 2, 3}) {
    sketch.Collective(rank, 10, 100, 64, 4)
        .Collective(rank, 10, 200, 32)
        .Collective(rank, 20, 300, rank < 2 ? 16 : 32);
  }
  EXPECT_THAT(sketch.Infer({kWorld, kLow, kHigh}, {0, 1, 2, 3}),
              ElementsAre(0, 0, 1, 0, 0, 1, 0, 0, 2, 0, 0, 2));
}

// What two members do long before the other two is not common to all four.
TEST(InferGroups, ByTime) {
  Sketch sketch;
  for (const std::int32_t rank : {0, 1, 2, 3}) {
    sketch.Collective(rank, 10, 100, 64, 4).Collective(rank, 20, rank < 2 ? 300 : 600, 64);
  }
  EXPECT_THAT(sketch.Infer({kWorld, kLow, kHigh}, {0, 1, 2, 3}),
              ElementsAre(0, 1, 0, 1, 0, 2, 0, 2));
}

// gloo gives a group two threads: a third one is another group's, although size and time would fit.
TEST(InferGroups, ByThreads) {
  const auto sketch_with = [](std::int32_t size_on_second_thread) {
    Sketch sketch;
    for (const std::int32_t rank : {0, 1, 2, 3}) {
      sketch.Collective(rank, 10, 100, 128, 4)
          .Collective(rank, 11, 200, 64, size_on_second_thread)
          .Collective(rank, 20, 300, 64);
    }
    return sketch.Infer({kWorld, kLow, kHigh}, {0, 1, 2, 3});
  };
  EXPECT_THAT(sketch_with(4), ElementsAre(0, 0, 1, 0, 0, 1, 0, 0, 2, 0, 0, 2));
  EXPECT_THAT(sketch_with(-1), ElementsAre(0, -1, -1, 0, -1, -1, 0, -1, -1, 0, -1, -1))
      << "either of two threads may be the small group's";
}

TEST(InferGroups, AmbiguousIsUnknown) {
  Sketch sketch;
  for (const std::int32_t rank : {0, 1, 2, 3}) {
    sketch.Collective(rank, 10, 100, 64);
  }
  EXPECT_THAT(sketch.Infer({kWorld, kLow, kHigh}, {0, 1, 2, 3}), Each(-1));
}

TEST(InferGroups, ContradictionIsUnknown) {
  Sketch sketch;
  for (const std::int32_t rank : {0, 1, 2, 3}) {
    sketch.Collective(rank, 10, 100, rank == 3 ? 32 : 64);
  }
  EXPECT_THAT(sketch.Infer({kWorld}, {0, 1, 2, 3}), Each(-1));
}

// A pipeline group's peers are numbered within the group: 1 is rank 2 here.
TEST(InferGroups, PointToPointByPeers) {
  const ProcessGroup even{.id = "3", .description = "pp", .ranks = {0, 2}};
  Sketch sketch;
  sketch.PointToPoint(0, CommKind::kSend, 1, 100).PointToPoint(2, CommKind::kRecv, 0, 90);
  EXPECT_THAT(sketch.Infer({kWorld, even}, {0, 1, 2, 3}), ElementsAre(1, 1));
}

// Between the same two ranks it makes no difference which group a send is in.
TEST(InferGroups, PointToPointInSeveralGroups) {
  Sketch sketch;
  sketch.PointToPoint(0, CommKind::kSend, 1, 100).PointToPoint(1, CommKind::kRecv, 0, 90);
  EXPECT_THAT(sketch.Infer({kWorld, kLow}, {0, 1, 2, 3}), ElementsAre(0, 0));
}

TEST(InferGroups, OneRankAlone) {
  Sketch sketch;
  sketch.Collective(2, 10, 100, 64);
  EXPECT_THAT(sketch.Infer({kWorld}, {2}), ElementsAre(0));
}

RankCapture RankWith(std::int32_t rank, std::vector<GroupRecord> groups) {
  RankCapture capture;
  capture.rank = rank;
  capture.groups = std::move(groups);
  return capture;
}

// Oddity 7: names differ between ranks, and two groups may have the same ranks.
TEST(GroupTable, IdentityIsRanksDescriptionAndOrder) {
  std::vector<RankCapture> ranks(2);
  ranks[0] = RankWith(0, {{.name = "0", .description = "default_pg", .ranks = {0, 1}},
                          {.name = "1", .description = "tp", .ranks = {0, 1}},
                          {.name = "7", .description = "tp", .ranks = {0, 1}},
                          {.name = "8", .description = "solo", .ranks = {0}}});
  ranks[1] = RankWith(1, {{.name = "0", .description = "default_pg", .ranks = {0, 1}},
                          {.name = "2", .description = "tp", .ranks = {0, 1}},
                          {.name = "3", .description = "tp", .ranks = {0, 1}},
                          {.name = "1", .description = "solo", .ranks = {1}}});
  const GroupTable table(ranks);
  EXPECT_EQ(table.groups().size(), 5U);
  EXPECT_EQ(table.Find(0, "1"), table.Find(1, "2"));
  EXPECT_EQ(table.Find(0, "7"), table.Find(1, "3"));
  EXPECT_NE(table.Find(0, "1"), table.Find(0, "7"));
  EXPECT_NE(table.Find(0, "8"), table.Find(1, "1")) << "same name, other ranks";
  EXPECT_EQ(table.FirstTwin(table.Find(0, "7")), table.Find(0, "0"));
  EXPECT_EQ(table.Find(1, "8"), -1);
  EXPECT_EQ(table.groups()[0].id, "0");
}

// Simulators take "0" for all ranks.
TEST(GroupTable, ZeroIsTheGroupOfAllRanks) {
  std::vector<RankCapture> ranks(2);
  ranks[0] = RankWith(0, {{.name = "a", .description = "solo", .ranks = {0}},
                          {.name = "b", .description = "default_pg", .ranks = {0, 1}},
                          {.name = "c", .description = "tp", .ranks = {0, 1}}});
  ranks[1] = RankWith(1, {});
  const GroupTable table(ranks);
  ASSERT_EQ(table.groups().size(), 3U);
  EXPECT_EQ(table.groups()[0].id, "1");
  EXPECT_EQ(table.groups()[1].id, "0");
  EXPECT_EQ(table.groups()[2].id, "2");
}

TEST(GroupRecords, Parse) {
  const auto groups = ParseGroupRecords(
      R"([{"pg_name": "0", "pg_desc": "default_pg", "ranks": [], "group_size": 4},
          {"pg_name": "12", "pg_desc": "tp", "ranks": [1, 3], "pg_size": 2}])");
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_TRUE(groups[0].ranks.empty());
  EXPECT_EQ(groups[0].size, 4);
  EXPECT_THAT(groups[1].ranks, ElementsAre(1, 3));
  EXPECT_EQ(groups[1].size, 2);
  EXPECT_TRUE(ParseGroupRecords("no list").empty());
  bool cut = false;
  EXPECT_THAT(ParseIntegerList("[-5]", cut), ElementsAre(-5));
  EXPECT_TRUE(ParseIntegerList("", cut).empty());
  EXPECT_FALSE(cut);
  EXPECT_TRUE(ParseIntegerList("[0, 2, ...]", cut).empty()) << "a part of a list is no list";
  EXPECT_TRUE(cut);
}

}  // namespace
}  // namespace reprise::pytorch
