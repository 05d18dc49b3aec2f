// A run read in parts: an outline of all ranks, then some of them whole.
#include "report/run/run_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>

#include "report/run/memory_need.h"
#include "report/run/rank_reader.h"
#include "report/run/schema.h"
#include "tests/run/run_directory.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;

constexpr std::uint64_t kWork = 7, kTransfer = 8;
constexpr std::int64_t kAheadNs = 5'000;  // the clock of host b

// Ranks 0 and 1 on host a, 2 and 3 on host b: a node of work and a transfer, twice.
class RunReaderTest : public RunDirectory {
 protected:
  void SetUp() override {
    RunDirectory::SetUp();
    RunManifest manifest;
    manifest.world_size = 4;
    ASSERT_TRUE(WriteManifest(Directory(), manifest));
    for (int rank = 0; rank < manifest.world_size; ++rank) {
      WriteRank(rank);
    }
  }

  [[nodiscard]] std::string RankFile(int rank) const {
    return File("rank" + std::to_string(rank) + ".sqlite");
  }

  void WriteRank(int rank) const {
    const auto writer = *RankWriter::Create(Directory(), rank);
    NodeInfo work{.node_id = kWork, .name = "aten::mm", .actor = "thread 1"};
    NodeInfo transfer{.node_id = kTransfer, .name = "nccl:all_reduce", .actor = "group 0"};
    transfer.kind = OpKind::kComm;
    writer->Append<NodeInfo>({work, transfer});
    writer->Append<EdgeInfo>({{.from = kWork, .to = kTransfer, .reason = "launch"}});
    CollectiveInfo info;
    info.node_id = kTransfer;
    info.group_size = 4;
    writer->Append<CollectiveInfo>({info});
    const std::int64_t ahead_ns = rank < 2 ? 0 : kAheadNs;
    for (int iteration = 0; iteration < 2; ++iteration) {
      const std::int64_t start_ns = 1'000 * (iteration + 1) + rank + ahead_ns;
      writer->Append<NodeRecord>(
          {{.node_id = kWork, .iteration = iteration, .start_ns = start_ns, .duration_ns = 10},
           {.node_id = kTransfer,
            .iteration = iteration,
            .start_ns = start_ns + 20,
            .duration_ns = 30}});
      writer->Append<StepRecord>(
          {{.iteration = iteration, .start_ns = start_ns, .duration_ns = 60}});
    }
    if (rank % 2 == 0) {
      writer->SetFacts({.clock_readings = {{0, ahead_ns, rank == 0 ? 0 : 9},
                                           {1'000'000, ahead_ns, rank == 0 ? 0 : 9}}});
      writer->Append<Sample>({{.metric = 0, .time_ns = 500 + ahead_ns, .value = 1}});
    }
    ASSERT_TRUE(writer->Close());
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(RankFile(rank).c_str(), &database), SQLITE_OK);
    const std::string sql = std::string("UPDATE ranks SET host='") + (rank < 2 ? "a" : "b") + "'";
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }
};

TEST_F(RunReaderTest, AnOutlineHasNothingOfNodes) {
  auto reader = RunReader::Open(Directory());
  ASSERT_TRUE(reader) << reader.error().message;
  const auto outline = reader->ReadAll(RankContent::kOutline);
  ASSERT_TRUE(outline) << outline.error().message;
  ASSERT_THAT(outline->ranks, SizeIs(4));
  for (const RankData& rank : outline->ranks) {
    EXPECT_THAT(rank.nodes, IsEmpty());
    EXPECT_THAT(rank.records, IsEmpty());
    EXPECT_THAT(rank.edges, IsEmpty());
    EXPECT_THAT(rank.collectives, IsEmpty());
    EXPECT_THAT(rank.steps, SizeIs(2));
  }
  EXPECT_EQ(outline->ranks[2].samples[0].time_ns, 500);
}

TEST_F(RunReaderTest, TransfersAreWhatRanksNeedOfEachOther) {
  auto reader = RunReader::Open(Directory());
  ASSERT_TRUE(reader && reader->ReadAll(RankContent::kOutline));
  const std::vector<std::int32_t> ranks = {0, 1, 2, 3};
  const auto transfers = reader->Read(ranks, RankContent::kTransfers);
  ASSERT_TRUE(transfers) << transfers.error().message;
  ASSERT_THAT(transfers->ranks, SizeIs(4));
  for (const RankData& rank : transfers->ranks) {
    ASSERT_THAT(rank.nodes, SizeIs(1));
    EXPECT_EQ(rank.nodes[0].node_id, kTransfer);
    ASSERT_THAT(rank.records, SizeIs(2));
    EXPECT_EQ(rank.records[1].node_id, kTransfer);
    EXPECT_EQ(rank.records[1].start_ns, 2'020 + rank.rank);  // on rank 0's clock
    EXPECT_THAT(rank.edges, IsEmpty());
    EXPECT_THAT(rank.collectives, SizeIs(1));
    EXPECT_THAT(rank.samples, IsEmpty());
    EXPECT_THAT(rank.steps, SizeIs(2));
  }
}

TEST_F(RunReaderTest, PartsAreWhatReadingAllAtOnceGives) {
  const auto whole = ReadRun(Directory());
  ASSERT_TRUE(whole) << whole.error().message;
  auto reader = RunReader::Open(Directory());
  ASSERT_TRUE(reader && reader->ReadAll(RankContent::kOutline));
  const std::vector<std::int32_t> ranks = {1, 2};
  const auto part = reader->Read(ranks);
  ASSERT_TRUE(part) << part.error().message;
  ASSERT_THAT(part->ranks, SizeIs(2));
  for (const RankData& rank : part->ranks) {
    const RankData& expected = whole->ranks[static_cast<std::size_t>(rank.rank)];
    EXPECT_THAT(rank.nodes, SizeIs(2));
    EXPECT_THAT(rank.edges, SizeIs(1));
    ASSERT_EQ(rank.records.size(), expected.records.size());
    for (std::size_t k = 0; k < rank.records.size(); ++k) {
      EXPECT_EQ(rank.records[k].node_id, expected.records[k].node_id);
      EXPECT_EQ(rank.records[k].start_ns, expected.records[k].start_ns);
    }
    EXPECT_EQ(rank.steps[1].start_ns, 2'000 + rank.rank);
    EXPECT_EQ(rank.clock_uncertainty_ns, expected.clock_uncertainty_ns);
  }
  EXPECT_THAT(part->ranks[0].clock_uncertainty_ns, Optional(0));
  EXPECT_THAT(part->ranks[1].clock_uncertainty_ns, Optional(9));
}

// Every column of every table that has rows: a value of another type is bad input that names it.
TEST_F(RunReaderTest, AValueOfAnotherTypeIsNamed) {
  const std::string path = RankFile(0);
  fs::copy_file(path, File("whole"));
  int tried = 0;
  for (const RunTable& table : RunTables()) {
    for (const RunColumn& column : table.columns) {
      fs::copy_file(File("whole"), path, fs::copy_options::overwrite_existing);
      sqlite3* database = nullptr;
      ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
      const std::string sql = fmt::format("UPDATE {} SET \"{}\" = x'c3ff'",
                                          !table.HasShared() ? std::string(table.name)
                                          : column.shared    ? SharedOf(table.name)
                                                             : RowsOf(table.name),
                                          column.name);
      const int done = sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr);
      const int changed = sqlite3_changes(database);
      sqlite3_close(database);
      if (done != SQLITE_OK || changed == 0) {
        continue;  // of the merged file alone, or without rows here
      }
      ++tried;
      std::vector<std::string> notes;
      const auto read = ReadRankFile(Directory(), 0, RankContent::kWhole, "", notes);
      ASSERT_FALSE(read) << sql;
      EXPECT_EQ(read.error().kind, ErrorKind::kBadInput) << sql;
      EXPECT_THAT(read.error().message, HasSubstr("rank0.sqlite")) << sql;
      EXPECT_THAT(read.error().message, HasSubstr(std::string(column.name))) << sql;
    }
  }
  EXPECT_GT(tried, 40);
}

// A row without its shared values is damage, not a row less.
TEST_F(RunReaderTest, ARowWithoutSharedValuesIsNamed) {
  const std::string path = RankFile(0);
  fs::copy_file(path, File("whole"));
  for (const char* sql : {"UPDATE edges_rows SET shared = 9", "UPDATE edges_rows SET shared = NULL",
                          "UPDATE edges_rows SET shared = 0", "DELETE FROM edges_shared",
                          "UPDATE edges_shared SET shared = shared + 1 WHERE shared = 1"}) {
    fs::copy_file(File("whole"), path, fs::copy_options::overwrite_existing);
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sql;
    ASSERT_GT(sqlite3_changes(database), 0) << sql;
    sqlite3_close(database);
    std::vector<std::string> notes;
    const auto read = ReadRankFile(Directory(), 0, RankContent::kWhole, "", notes);
    ASSERT_FALSE(read) << sql;
    EXPECT_EQ(read.error().kind, ErrorKind::kBadInput) << sql;
    EXPECT_THAT(read.error().message, HasSubstr("column shared")) << sql;
  }
}

TEST_F(RunReaderTest, AGroupWithoutMembersIsNamed) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(RankFile(0).c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "UPDATE collectives_shared SET group_size=0", nullptr, nullptr,
                         nullptr),
            SQLITE_OK);
  sqlite3_close(database);
  std::vector<std::string> notes;
  const auto read = ReadRankFile(Directory(), 0, RankContent::kWhole, "", notes);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("node 8 has a group of 0 members"));
}

TEST_F(RunReaderTest, ARankThatWentAwayMeanwhileIsNamed) {
  auto reader = RunReader::Open(Directory());
  ASSERT_TRUE(reader && reader->ReadAll(RankContent::kOutline));
  fs::remove(RankFile(3));
  const std::vector<std::int32_t> ranks = {2, 3};
  const auto part = reader->Read(ranks);
  ASSERT_FALSE(part);
  EXPECT_THAT(part.error().message, HasSubstr("the file of rank 3 went away"));
}

TEST_F(RunReaderTest, WhatTheMemoryCannotHoldIsRefused) {
  const std::vector<std::int32_t> both = {0, 1};
  const auto bytes =
      static_cast<std::int64_t>(fs::file_size(RankFile(0)) + fs::file_size(RankFile(1)));
  RankSizes sizes(Directory());
  EXPECT_EQ(sizes.BytesOf(both), bytes);
  EXPECT_TRUE(FitsInMemory(bytes, 7 * bytes));
  EXPECT_FALSE(FitsInMemory(bytes, 7 * bytes - 1));
  EXPECT_TRUE(CheckMemory(sizes, both, 2 * bytes));
  EXPECT_TRUE(CheckMemory(sizes, std::vector<std::int32_t>{1}, 2 * bytes - 1));
  const Status refused = CheckMemory(sizes, both, 2 * bytes - 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kEnvironment);
  EXPECT_THAT(refused.error().message, HasSubstr("the files of 2 ranks (from 0 on) hold"));
  EXPECT_THAT(refused.error().message, HasSubstr("copy manifest.json"));
  const Status one = CheckMemory(sizes, std::vector<std::int32_t>{1}, 1);
  ASSERT_FALSE(one);
  EXPECT_THAT(one.error().message, HasSubstr("rank1.sqlite holds"));
  const auto largest =
      static_cast<std::int64_t>(std::max(fs::file_size(RankFile(0)), fs::file_size(RankFile(1))));
  EXPECT_EQ(RanksAtATime(sizes, both, 21 * largest), 3U);
  EXPECT_EQ(RanksAtATime(sizes, both, 1), 1U);
  EXPECT_GT(MachineMemoryBytes(), 1 << 20);
}

}  // namespace
}  // namespace reprise
