// Rows that come again: stored once, and the same for readers, SQL and estimates of memory.
#include "report/run/repeated_rows.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "report/run/memory_need.h"
#include "report/run/rank_reader.h"
#include "report/run/row_blocks.h"
#include "report/run/run.h"
#include "report/run/schema.h"
#include "tests/run/run_directory.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr std::uint64_t kMore = 3;  // nodes of a repetition
constexpr std::int64_t kTimes = 9;

class RepeatedRowsTest : public RunDirectory {
 protected:
  // Node 1 stands alone; from node 2 on three nodes come again; two follow. `odd`: this repetition
  // takes longer, and all later ones start later.
  void Write(std::int64_t odd = -1) {
    std::vector<NodeInfo> nodes;
    std::int64_t late_ns = 0;
    std::vector<std::uint64_t> begins;
    for (std::uint64_t id = 1; id <= 1 + kMore * kTimes + 2; ++id) {
      const std::uint64_t k = (id - 2) % kMore;
      const auto repetition = static_cast<std::int64_t>((id - 2) / kMore);
      if (id > 1 && k == 0) {
        begins.push_back(id);
      }
      const bool longer = id > 1 && repetition == odd && k == 1;
      const auto start_ns = static_cast<std::int64_t>(id) * 100 + late_ns;
      late_ns += longer ? 5 : 0;
      nodes.push_back({.node_id = id,
                       .name = fmt::format("node {}", id == 1 ? 9 : k),
                       .recorded_start_ns = start_ns});
      records_.push_back({.node_id = id, .start_ns = start_ns, .duration_ns = longer ? 15 : 10});
      // The second of a repetition depends on node 1, which does not move.
      edges_.push_back({.from = id == 1 || k == 1 ? 1 : id - 1, .to = id, .reason = "data"});
      joules_.push_back({.node_id = id, .above_idle_joules = 0.1 * static_cast<double>(k)});
      if (k == 2) {
        CollectiveInfo& info = transfers_.emplace_back();
        info.node_id = id;
        info.group_size = 2;
        info.spec.index = repetition;
      }
    }
    nodes_ = nodes;
    RunManifest manifest;
    manifest.world_size = 1;
    ASSERT_TRUE(WriteManifest(Directory(), manifest));
    const auto writer = *RankWriter::Create(Directory(), 0);
    AppendBlocks(*writer, std::move(nodes), &NodeInfo::node_id, begins);
    AppendBlocks(*writer, edges_, &EdgeInfo::to, begins);
    AppendBlocks(*writer, transfers_, &CollectiveInfo::node_id, begins);
    AppendBlocks(*writer, records_, &NodeRecord::node_id, begins);
    AppendBlocks(*writer, joules_, &NodeJoules::node_id, begins);
    ASSERT_TRUE(writer->Close());
  }

  template <typename Row>
  static void ExpectSame(const std::vector<Row>& actual, const std::vector<Row>& expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      EXPECT_TRUE(HasSameShared(actual[i], expected[i])) << TableName(&actual[i]) << " " << i;
      EXPECT_EQ(OwnValuesOf(actual[i]), OwnValuesOf(expected[i]))
          << TableName(&actual[i]) << " " << i;
    }
  }

  // Of one number of the file.
  [[nodiscard]] std::int64_t Ask(const std::string& sql) const {
    auto database = Database::Open(File("rank0.sqlite"), Database::Access::kRead);
    auto select = database->Prepare(sql);
    EXPECT_TRUE(select && select->Next().value_or(false)) << sql;
    return select->Int(0);
  }

  std::vector<NodeInfo> nodes_;
  std::vector<NodeRecord> records_;
  std::vector<EdgeInfo> edges_;
  std::vector<NodeJoules> joules_;
  std::vector<CollectiveInfo> transfers_;
};

TEST_F(RepeatedRowsTest, AllComeBackInTheirOrder) {
  for (const std::int64_t odd : {-1, 0, 1, 4, 8}) {
    nodes_ = {};
    records_ = {};
    edges_ = {};
    joules_ = {};
    transfers_ = {};
    Write(odd);
    std::vector<std::string> notes;
    const auto read = ReadRankFile(Directory(), 0, RankContent::kWhole, "", notes);
    ASSERT_TRUE(read) << read.error().message;
    ExpectSame(read->nodes, nodes_);
    ExpectSame(read->records, records_);
    ExpectSame(read->edges, edges_);
    ExpectSame(read->joules, joules_);
    ExpectSame(read->collectives, transfers_);
    // Without -1: one repetition differs, and the next one may be stored, too.
    const std::int64_t stored = Ask("SELECT count(*) FROM records_rows");
    EXPECT_EQ(Ask("SELECT count(*) FROM edges_rows"), 1 + 2 * kMore + 2);
    EXPECT_LE(stored, 1 + (odd < 0 ? 2 : 5) * static_cast<std::int64_t>(kMore) + 2) << odd;
  }
}

TEST_F(RepeatedRowsTest, SqlHasTheSame) {
  Write(4);
  auto database = Database::Open(File("rank0.sqlite"), Database::Access::kRead);
  auto select = database->Prepare("SELECT node_id, start_ns, duration_ns FROM records");
  ASSERT_TRUE(select) << select.error().message;
  for (const NodeRecord& record : records_) {
    ASSERT_TRUE(select->Next().value_or(false));
    EXPECT_EQ(select->Int(0), static_cast<std::int64_t>(record.node_id));
    EXPECT_EQ(select->Int(1), record.start_ns);
    EXPECT_EQ(select->Int(2), record.duration_ns);
  }
  EXPECT_FALSE(select->Next().value_or(true));
  EXPECT_EQ(Ask("SELECT count(*) FROM nodes"), static_cast<std::int64_t>(nodes_.size()));
}

TEST_F(RepeatedRowsTest, TransfersAloneHaveTheirNodesAndRecords) {
  Write();
  std::vector<std::string> notes;
  const auto read = ReadRankFile(Directory(), 0, RankContent::kTransfers, "", notes);
  ASSERT_TRUE(read) << read.error().message;
  ExpectSame(read->collectives, transfers_);
  ASSERT_EQ(read->records.size(), transfers_.size());
  for (std::size_t i = 0; i < transfers_.size(); ++i) {
    EXPECT_EQ(read->records[i].node_id, transfers_[i].node_id);
    EXPECT_EQ(read->nodes[i].node_id, transfers_[i].node_id);
  }
}

TEST_F(RepeatedRowsTest, MemoryIsThatOfAllRows) {
  Write();
  const auto file = static_cast<std::int64_t>(fs::file_size(File("rank0.sqlite")));
  const std::vector<std::int32_t> ranks = {0};
  EXPECT_GT(RankSizes(Directory()).BytesOf(ranks), 2 * file);
}

// Rows that a part names and that are not there, and parts that cannot be.
TEST_F(RepeatedRowsTest, DamagedPartsAreNamed) {
  Write();
  const std::string path = File("rank0.sqlite");
  fs::copy_file(path, File("whole"));
  for (const char* change :
       {"first = 0", "last = first - 1", "back = first", "back = -1", "repetition = -1",
        "repetition = NULL", "last = 'x'", "repetition = 9223372036854775807 WHERE repetition > 1",
        "last = last + 1000 WHERE repetition > 1"}) {
    fs::copy_file(File("whole"), path, fs::copy_options::overwrite_existing);
    {
      auto database = Database::Open(path, Database::Access::kCreate);
      ASSERT_TRUE(database->Execute(fmt::format("UPDATE edges_parts SET {}", change))) << change;
    }
    std::vector<std::string> notes;
    const auto read = ReadRankFile(Directory(), 0, RankContent::kWhole, "", notes);
    ASSERT_FALSE(read) << change;
    EXPECT_EQ(read.error().kind, ErrorKind::kBadInput) << change;
    EXPECT_THAT(read.error().message, HasSubstr("table edges_parts")) << change;
  }
}

TEST(Moved, EndsBeforeTheNumbersDo) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  using One = std::array<std::int64_t, 1>;
  EXPECT_EQ(Moved(One{1}, One{3}, 4), One{11});
  EXPECT_EQ(Moved(One{kMost - 1}, One{kMost}, 1), std::nullopt);
  EXPECT_EQ(Moved(One{-2}, One{kMost}, 1), std::nullopt);
  EXPECT_EQ(Moved(One{0}, One{2}, kMost), std::nullopt);
}

}  // namespace
}  // namespace reprise
