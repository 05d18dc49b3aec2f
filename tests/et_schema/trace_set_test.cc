#include "et_schema/trace_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "et_schema/json.h"
#include "tests/et_schema/random_node.h"
#include "tests/et_schema/scratch_directory.h"
#include "tests/et_schema/trace_files.h"

namespace reprise {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class TraceSetTest : public testing::Test {
 protected:
  void WriteRank(std::int32_t rank, const std::string& ending = ".et",
                 std::int32_t world_size = 1) {
    TraceMetadata metadata;
    metadata.rank = rank;
    metadata.world_size = world_size;
    ASSERT_TRUE(WriteTrace(scratch_.File("gpt." + std::to_string(rank) + ending),
                           {MakeNode(1, 0), MakeNode(2, 1, {1})}, metadata));
  }
  void WriteRankWithGroup(std::int32_t rank, std::vector<std::int32_t> ranks) {
    TraceMetadata metadata;
    metadata.rank = rank;
    metadata.world_size = 4;
    metadata.groups = {{.id = "0", .description = "default_pg", .ranks = {0, 1, 2, 3}},
                       {.id = "5", .description = "tp", .ranks = std::move(ranks)}};
    if (rank == 1) {
      metadata.groups.push_back({.id = "6", .description = "", .ranks = {1}});
    }
    ASSERT_TRUE(WriteTrace(scratch_.File("gpt." + std::to_string(rank) + ".et"), {MakeNode(1, 0)},
                           metadata));
  }
  [[nodiscard]] std::string OpenError() const {
    const auto set = TraceSet::Open(scratch_.path());
    return set ? "none" : set.error().message;
  }
  ScratchDirectory scratch_;
};

TEST_F(TraceSetTest, FindsRanksInAnyCompression) {
  WriteRank(0);
  WriteRank(1, ".et.gz");
  WriteRank(2, ".et.zst");
  WriteFile(scratch_.File("notes.txt"), "x");
  const std::map<std::string, ProcessGroup> groups = {
      {"0", {.id = "0", .description = "default_pg", .ranks = {0, 1, 2}}},
      {"tp", {.id = "tp", .description = "", .ranks = {2, 0}}}};
  ASSERT_TRUE(WriteGroups(scratch_.path(), groups));
  const auto set = TraceSet::Open(scratch_.path());
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->name, "gpt");
  EXPECT_EQ(set->world_size, 3);
  EXPECT_EQ(set->files.at(1), scratch_.File("gpt.1.et.gz"));
  EXPECT_EQ(set->groups, groups);
}

TEST_F(TraceSetTest, GroupsFileIsAstraSimsForm) {
  ASSERT_TRUE(WriteGroups(scratch_.path(), {{"1", {.id = "1", .ranks = {3, 1}}}}));
  const auto json = nlohmann::json::parse(ReadFile(scratch_.File("comm_groups.json")));
  EXPECT_EQ(json, nlohmann::json::parse(R"({"1": [3, 1]})"));
}

// Files that were converted one by one: each brings the groups that its rank knows.
TEST_F(TraceSetTest, GroupsOfAllFilesAreMerged) {
  WriteRankWithGroup(0, {1, 0});
  WriteRankWithGroup(1, {1, 0});
  const auto set = TraceSet::OpenPresent(scratch_.path());
  ASSERT_TRUE(set) << set.error().message;
  const std::map<std::string, ProcessGroup> expected = {
      {"0", {.id = "0", .description = "default_pg", .ranks = {0, 1, 2, 3}}},
      {"5", {.id = "5", .description = "tp", .ranks = {1, 0}}},
      {"6", {.id = "6", .description = "", .ranks = {1}}}};
  EXPECT_EQ(set->groups, expected);
}

TEST_F(TraceSetTest, GroupsThatContradictAreRefused) {
  WriteRankWithGroup(0, {1, 0});
  WriteRankWithGroup(1, {1, 2});
  const auto set = TraceSet::OpenPresent(scratch_.path());
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(set.error().message, AllOf(HasSubstr("process group '5' has ranks [1, 0] in gpt.0.et "
                                                   "and [1, 2] in gpt.1.et")));
}

TEST_F(TraceSetTest, NamesMissingRanks) {
  WriteRank(0);
  WriteRank(3);
  EXPECT_THAT(OpenError(), HasSubstr("no file of rank 1-2 (4 ranks"));
}

TEST_F(TraceSetTest, SomeRanksAreEnoughForThoseWhoAskSo) {
  WriteRank(1, ".et", 6);
  WriteRank(3, ".et", 6);
  const auto set = TraceSet::OpenPresent(scratch_.path());
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->files.size(), 2U);
  EXPECT_EQ(set->missing, (std::vector<std::int32_t>{0, 2, 4, 5}));
  EXPECT_EQ(set->MissingRanks(), "no file of rank 0, 2, 4-5 (6 ranks, expected gpt.<rank>.et)");
}

TEST_F(TraceSetTest, NamesRanksMissingAtTheEnd) {
  WriteRank(0, ".et", 3);
  WriteRank(1, ".et", 3);
  EXPECT_THAT(OpenError(), HasSubstr("no file of rank 2"));
}

TEST_F(TraceSetTest, RefusesTwoFilesOfARank) {
  WriteRank(0);
  WriteRank(0, ".et.gz");
  EXPECT_THAT(OpenError(), HasSubstr("two files for rank 0"));
}

TEST_F(TraceSetTest, RefusesSeveralTraces) {
  WriteRank(0);
  ASSERT_TRUE(WriteTrace(scratch_.File("other.0.et"), {}));
  EXPECT_THAT(OpenError(), AllOf(HasSubstr("several traces"), HasSubstr("gpt, other")));
}

TEST_F(TraceSetTest, RefusesAnEmptyOrMissingDirectory) {
  EXPECT_THAT(OpenError(), HasSubstr("no trace"));
  const auto set = TraceSet::Open(scratch_.File("nowhere"));
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().kind, ErrorKind::kBadInput);
}

// ASTRA-sim reads ids with stoi, asserts that they are above 0, and takes "0" for all ranks.
TEST_F(TraceSetTest, GroupsFileHasOnlyWhatSimulatorsTake) {
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    WriteRank(rank);
  }
  const std::map<std::string, ProcessGroup> groups = {
      {"0", {.id = "0", .description = "default_pg", .ranks = {0, 1}}},
      {"12", {.id = "12", .ranks = {1}}},
      {"tp", {.id = "tp", .description = "by name", .ranks = {1, 0}}}};
  ASSERT_TRUE(WriteGroups(scratch_.path(), groups));
  const auto file = nlohmann::json::parse(ReadFile(scratch_.File("comm_groups.json")));
  EXPECT_EQ(file, nlohmann::json::parse(R"({"12": [1]})"));
  const auto set = TraceSet::Open(scratch_.path());
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->groups, groups) << "nothing is lost";
}

TEST_F(TraceSetTest, GroupsOfOlderSets) {
  WriteRank(0);
  WriteFile(scratch_.File("comm_groups.json"), R"({"0": [0]})");
  WriteFile(scratch_.File("comm_groups_info.json"), R"({"0": {"description": "all"}})");
  const auto set = TraceSet::Open(scratch_.path());
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->groups.at("0"), (ProcessGroup{.id = "0", .description = "all", .ranks = {0}}));
}

TEST_F(TraceSetTest, RefusesBrokenGroups) {
  WriteRank(0);
  WriteFile(scratch_.File("comm_groups.json"), "{\"0\": [0");
  EXPECT_THAT(OpenError(), HasSubstr("comm_groups.json"));
  WriteFile(scratch_.File("comm_groups.json"), "{\"0\": \"all\"}");
  EXPECT_THAT(OpenError(), HasSubstr("expected"));
  WriteFile(scratch_.File("comm_groups.json"), "{\"0\": [0, 5]}");
  EXPECT_THAT(OpenError(), HasSubstr("rank 5"));
}

TEST_F(TraceSetTest, HashIsOfContent) {
  WriteRank(0);
  WriteRank(1);
  ASSERT_TRUE(WriteGroups(scratch_.path(), {{"0", {.id = "0", .ranks = {0, 1}}}}));
  const auto hash = [&] { return *TraceSet::Open(scratch_.path())->ContentHash(); };
  const std::string first = hash();
  EXPECT_EQ(first.size(), 32U);
  WriteRank(1);
  EXPECT_EQ(hash(), first) << "same bytes again";
  ASSERT_TRUE(WriteGroups(scratch_.path(), {{"0", {.id = "0", .ranks = {1, 0}}}}));
  const std::string second = hash();
  EXPECT_NE(second, first);
  ASSERT_TRUE(WriteTrace(scratch_.File("gpt.1.et"), {MakeNode(1, 0)}));
  EXPECT_NE(hash(), second);
}

TEST(Sequence, PointToPointIsByPairAndDirection) {
  CommSpec spec{.kind = CommKind::kSend, .group = "0", .peer = 5};
  EXPECT_EQ(SequenceOf(spec, 2), (SequenceKey{"0", 2, 5}));
  spec.kind = CommKind::kRecv;
  EXPECT_EQ(SequenceOf(spec, 2), (SequenceKey{"0", 5, 2}));
  spec.kind = CommKind::kAllReduce;
  EXPECT_EQ(SequenceOf(spec, 2), (SequenceKey{"0", -1, -1}));
}

TEST(Json, IsValidAndComplete) {
  const ScratchDirectory scratch;
  const std::string path = scratch.File("x.0.et");
  RandomNodes random(8);
  std::vector<Node> nodes;
  for (int i = 0; i < 200; ++i) {
    nodes.push_back(random.Next());
  }
  nodes[0].inputs = {Value{std::numeric_limits<double>::infinity()}, Value{},
                     Value{std::string("\"quoted\"\n")}};
  ASSERT_TRUE(WriteTrace(path, nodes));
  std::ostringstream out;
  const auto written = WriteJson(path, out);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(*written, nodes.size());
  const auto json = nlohmann::json::parse(out.str());
  EXPECT_EQ(json.at("metadata").at("rank"), 0);
  ASSERT_EQ(json.at("nodes").size(), nodes.size());
  EXPECT_EQ(json.at("nodes")[0].at("inputs"),
            nlohmann::json::parse(R"([{"double": "inf"}, null, "\"quoted\"\n"])"));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto& node = json.at("nodes")[i];
    EXPECT_EQ(node.at("id"), nodes[i].id);
    EXPECT_EQ(node.at("name"), nodes[i].name);
    EXPECT_EQ(node.at("deps").size(), nodes[i].deps.size());
    EXPECT_EQ(node.contains("comm"), nodes[i].comm.has_value());
  }
}

TEST(Json, ReportsADamagedFile) {
  const ScratchDirectory scratch;
  WriteFile(scratch.File("x.0.et"), "no trace");
  std::ostringstream out;
  EXPECT_FALSE(WriteJson(scratch.File("x.0.et"), out));
}

}  // namespace
}  // namespace reprise
