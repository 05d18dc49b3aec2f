// ranks.json: groups by rule and as lists, transfers of classes as those of ranks, and what is
// wrong with a file.
#include "et_schema/rank_classes.h"

#include <gmock/gmock.h>

#include "tests/et_schema/scratch_directory.h"

namespace reprise {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// 4 x 2 x 3 ranks: tensor, data, stage.
GroupRole MeshRule(const std::string& role, std::vector<std::size_t> axes,
                   std::vector<std::int64_t> at = {}) {
  return {.role = role,
          .description = role,
          .mesh = {4, 2, 3},
          .axes = std::move(axes),
          .at = std::move(at)};
}
RankClasses MeshClasses() {
  return *RankClasses::Create(24, {{"job.class0.et", {{0, 7, 1}}}, {"job.class1.et", {{8, 23, 1}}}},
                              {MeshRule("tp", {0}), MeshRule("dp", {1}), MeshRule("pp", {2}),
                               MeshRule("ends", {2}, {0, 2}), MeshRule("both", {0, 2})});
}

TEST(RankClasses, GroupsFollowTheMesh) {
  const RankClasses classes = MeshClasses();
  EXPECT_THAT(classes.GroupOf("tp", 6)->ranks, ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(classes.GroupOf("dp", 6)->ranks, ElementsAre(2, 6));
  EXPECT_THAT(classes.GroupOf("pp", 6)->ranks, ElementsAre(6, 14, 22));
  EXPECT_THAT(classes.GroupOf("ends", 6)->ranks, ElementsAre(6, 22));
  EXPECT_FALSE(classes.GroupOf("ends", 14));
  EXPECT_FALSE(classes.GroupOf("none", 6));
  EXPECT_THAT(classes.GroupOf("both", 5)->ranks,
              ElementsAre(4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23));
  // Ids agree between one rank's group and all groups.
  const auto groups = classes.Groups();
  EXPECT_EQ(groups.size(), 1 + 6 + 12 + 8 + 8 + 2);
  for (std::int32_t rank = 0; rank < 24; ++rank) {
    for (const GroupRole& role : classes.roles()) {
      if (const auto group = classes.GroupOf(role.role, rank)) {
        EXPECT_EQ(groups.at(group->id), *group);
        EXPECT_THAT(group->ranks, testing::Contains(rank));
      }
    }
  }
}

// One member by its position, and back, agree with the list of all.
TEST(RankClasses, PositionsAreThoseOfTheList) {
  const RankClasses by_rule = MeshClasses();
  const ScratchDirectory scratch;
  ASSERT_TRUE(by_rule.Write(scratch.path()));  // as lists
  const auto by_lists = RankClasses::Read(scratch.path());
  ASSERT_TRUE(by_lists) << by_lists.error().message;
  for (const RankClasses* classes : {&by_rule, &*by_lists}) {
    EXPECT_EQ(classes->MembersByRole(), by_rule.MembersByRole());
    for (std::int32_t rank = 0; rank < 24; ++rank) {
      for (const GroupRole& role : classes->roles()) {
        const auto group = classes->GroupOf(role.role, rank);
        for (std::size_t i = 0; group && i < group->ranks.size(); ++i) {
          CommSpec spec{
              .kind = CommKind::kSend, .group = role.role, .peer = static_cast<std::int32_t>(i)};
          ASSERT_TRUE(classes->Resolve(rank, spec));
          EXPECT_EQ(spec.peer, group->ranks[i]);
          EXPECT_EQ(classes->GroupById(spec.group), group);
          ASSERT_TRUE(classes->Unresolve(rank, spec));
          EXPECT_EQ(spec.peer, static_cast<std::int32_t>(i));
          EXPECT_EQ(spec.group, role.role);
        }
      }
    }
    EXPECT_EQ(classes->GroupsOf({6}).size(), 6U);  // of all ranks, and of five roles
  }
  CommSpec spec{.kind = CommKind::kSend, .group = by_rule.GroupOf("tp", 6)->id, .peer = 8};
  EXPECT_THAT(by_rule.Unresolve(6, spec).error().message, HasSubstr("no member"));
}

// What has many ranks costs no list of them.
TEST(RankClasses, AMillionRanksAreRangesOfNumbers) {
  constexpr std::int32_t kRanks = 1 << 20;
  const auto classes = RankClasses::Create(kRanks, {{"a.class0.et", {{0, kRanks - 1, 1}}}},
                                           {{.role = "pairs", .mesh = {2, kRanks / 2}, .axes = {0}},
                                            {.role = "half", .lists = {{{0, kRanks - 2, 2}}}}});
  ASSERT_TRUE(classes) << classes.error().message;
  for (std::int32_t rank = 0; rank < kRanks; ++rank) {
    CommSpec spec{.kind = CommKind::kSend, .group = "pairs", .peer = 1};
    ASSERT_TRUE(classes->Resolve(rank, spec));
    ASSERT_EQ(spec.peer, rank / 2 * 2 + 1);
    spec = {.kind = CommKind::kBroadcast, .group = "half", .root = kRanks / 2 - 1};
    ASSERT_EQ(classes->Resolve(rank, spec).has_value(), rank % 2 == 0);
    ASSERT_EQ(spec.root, rank % 2 == 0 ? kRanks - 2 : kRanks / 2 - 1);
  }
  const auto more = RankClasses::Create(kRanks + 1, {{"a.class0.et", {{0, kRanks, 1}}}}, {});
  ASSERT_FALSE(more);
  EXPECT_THAT(more.error().message, HasSubstr("--limits ranks="));
}

TEST(RankClasses, TransfersGetTheRanksOfTheirGroup) {
  const RankClasses classes = MeshClasses();
  CommSpec spec{.kind = CommKind::kSend, .group = "pp", .peer = 2};
  ASSERT_TRUE(classes.Resolve(6, spec));
  EXPECT_EQ(spec.peer, 22);
  EXPECT_EQ(spec.group, classes.GroupOf("pp", 6)->id);
  spec = {.kind = CommKind::kSend, .group = "pp", .peer = 3};
  EXPECT_THAT(classes.Resolve(6, spec).error().message, HasSubstr("which has 3 ranks"));
  spec = {.kind = CommKind::kAllReduce, .group = "ends"};
  EXPECT_THAT(classes.Resolve(14, spec).error().message, HasSubstr("no such group of rank 14"));
}

TEST(RankClasses, AreReadAsWritten) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(MeshClasses().Write(scratch.path()));
  const auto read = RankClasses::Read(scratch.path());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->classes(), MeshClasses().classes());
  EXPECT_EQ(read->Groups(), MeshClasses().Groups());
  EXPECT_EQ(RangesOf({0, 1, 2, 8, 10, 12, 20}),
            (std::vector<RankRange>{{0, 2, 1}, {8, 12, 2}, {20, 20, 1}}));
}

TEST(RankClasses, SayWhatIsWrong) {
  const std::string good =
      R"({"format": "reprise-ranks", "version": 1, "world_size": 4, "classes": [{"file": "a.class0.et",
          "ranks": ["0-3"]}], "groups": {"tp": [["0-1"], ["2-3"]], "dp": {"mesh": [2, 2], "axes": [1]}}})";
  struct Damage {
    const char* from;
    const char* to;
    const char* message;
  };
  const Damage cases[] = {
      {"reprise-ranks", "other", "\"format\" is not"},
      {"\"version\": 1", "\"version\": 2", "version 2"},
      {"\"world_size\": 4", "\"world_size\": -4", "\"world_size\" is -4"},
      {"\"world_size\": 4", "\"world_size\": 99999999999", "\"world_size\" is"},
      {"[\"0-3\"]}", "[\"0-3\"]}, {\"file\": \"b.class1.et\", \"ranks\": []}", "no ranks"},
      {"[\"0-3\"]}", "[\"0-2\"]}, {\"file\": \"a.class0.et\", \"ranks\": [\"3\"]}",
       "two classes have"},
      {"\"0-3\"", "\"0-2\"", "rank 3 is in no class"},
      {"\"0-3\"", "\"0-3\", \"1\"", "rank 1 is in two classes"},
      {"\"0-3\"", "\"0-4\"", "of a world of 4"},
      {"\"0-3\"", "\"3-0\"", "expected ranks as in"},
      {"\"0-3\"", "\"0-3:0\"", "expected ranks as in"},
      {"[\"2-3\"]", "[\"1-3\"]", "rank 1 is in two groups"},
      {"\"mesh\": [2, 2]", "\"mesh\": [2, 3]", "does not have 4 ranks"},
      {"\"mesh\": [2, 2]", "\"mesh\": [0, 4]", "a side of 0"},
      {"\"axes\": [1]", "\"axes\": [2]", "of a mesh of 2 axes"},
      {"a.class0.et", "../a.class0.et", "in the same directory"},
      {"\"classes\"", "\"class\"", "classes"},
      {"{\"format\"", "\"format\"", "ranks.json"},
  };
  const ScratchDirectory scratch;
  WriteFile(scratch.File("ranks.json"), good);
  ASSERT_TRUE(RankClasses::Read(scratch.path()));
  for (const Damage& damage : cases) {
    std::string text = good;
    text.replace(text.find(damage.from), std::string(damage.from).size(), damage.to);
    WriteFile(scratch.File("ranks.json"), text);
    const auto read = RankClasses::Read(scratch.path());
    ASSERT_FALSE(read) << damage.to;
    EXPECT_EQ(read.error().kind, ErrorKind::kBadInput);
    EXPECT_THAT(read.error().message, HasSubstr(damage.message));
  }
}

}  // namespace
}  // namespace reprise
