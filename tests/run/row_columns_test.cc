// Columns beside a rank's file: the same rows, or none of them.
#include "report/run/row_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

#include "core/checksums.h"
#include "report/run/rank_reader.h"
#include "report/run/repeated_rows.h"
#include "report/run/row_blocks.h"
#include "report/run/run.h"
#include "report/run/schema.h"
#include "report/run/table_rows.h"
#include "tests/run/run_directory.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// Columns one after the other, `rows` values of each.
std::string Encoded(const std::vector<std::vector<std::int64_t>>& columns, std::size_t rows) {
  std::vector<std::int64_t> values(columns.size() * kRowsOfBlock);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    std::copy_n(columns[c].begin(), rows, values.begin() + static_cast<long>(c * kRowsOfBlock));
  }
  std::string bytes;
  AppendColumnBlock(values, columns.size(), rows, bytes);
  return bytes;
}

TEST(ColumnBlocks, AnyNumbersComeBack) {
  std::mt19937_64 random(7);
  std::vector<std::vector<std::int64_t>> columns = {
      {}, {}, {}, std::vector<std::int64_t>(kRowsOfBlock, -5), {}};
  for (std::size_t i = 0; i < kRowsOfBlock; ++i) {
    columns[0].push_back(static_cast<std::int64_t>(i) * 10'000 +
                         static_cast<std::int64_t>(random() % 3'000));
    columns[1].push_back(static_cast<std::int64_t>(random()));
    columns[2].push_back(i % 2 == 0 ? kLeast : kMost);
    columns[4].push_back(static_cast<std::int64_t>(random() % 70'000));
  }
  for (const std::size_t rows : {std::size_t{1}, std::size_t{2}, std::size_t{100}, kRowsOfBlock}) {
    const std::string bytes = Encoded(columns, rows);
    std::vector<std::int64_t> values;
    ASSERT_TRUE(ReadColumnBlock(bytes, columns.size(), rows, values)) << rows;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      for (std::size_t i = 0; i < rows; ++i) {
        ASSERT_EQ(values[c * kRowsOfBlock + i], columns[c][i]) << c << " " << i;
      }
    }
  }
  // Three bytes for what differs by 13,000, three for 70,000, eight for the others, none for one.
  EXPECT_EQ(Encoded({columns[0]}, 100).size(), 18 + 2 * 99);
  EXPECT_EQ(Encoded({columns[3]}, 100).size(), 18);
  EXPECT_EQ(Encoded({columns[4]}, 100).size(), 18 + 3 * 100);
}

TEST(ColumnBlocks, OtherBytesAreRefused) {
  const std::string bytes = Encoded({{1, 2, 300}, {4, 5, 6}}, 3);
  std::vector<std::int64_t> values;
  EXPECT_TRUE(ReadColumnBlock(bytes, 2, 3, values));
  EXPECT_FALSE(ReadColumnBlock(bytes, 2, 4, values));
  EXPECT_FALSE(ReadColumnBlock(bytes, 1, 3, values));
  EXPECT_FALSE(ReadColumnBlock(bytes, 3, 3, values));
  EXPECT_FALSE(ReadColumnBlock(bytes, 2, 0, values));
  EXPECT_FALSE(ReadColumnBlock(bytes, 2, kRowsOfBlock + 1, values));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ReadColumnBlock(std::string_view(bytes).substr(0, size), 2, 3, values)) << size;
  }
  for (const std::size_t at : {std::size_t{0}, std::size_t{1}}) {
    std::string other = bytes;
    other[at] = 9;
    EXPECT_FALSE(ReadColumnBlock(other, 2, 3, values)) << at;
  }
}

class RowColumnsTest : public RunDirectory {
 protected:
  // More than a block of nodes, half of which come again; every third is a transfer.
  void Write(const std::string& directory, std::int64_t duration_ns) const {
    fs::create_directories(directory);
    constexpr std::uint64_t kNodes = 2 * kRowsOfBlock;
    std::vector<NodeInfo> nodes;
    std::vector<NodeRecord> records;
    std::vector<EdgeInfo> edges;
    std::vector<NodeJoules> joules;
    std::vector<CollectiveInfo> transfers;
    for (std::uint64_t id = 1; id <= kNodes; ++id) {
      const auto start_ns = static_cast<std::int64_t>(100 * id + id % 7);
      nodes.push_back(
          {.node_id = id, .name = id % 2 == 0 ? "even" : "odd", .recorded_start_ns = start_ns});
      records.push_back({.node_id = id, .start_ns = start_ns, .duration_ns = duration_ns});
      edges.push_back({.from = id / 2, .to = id, .reason = "data"});
      joules.push_back({.node_id = id, .above_idle_joules = 0.5});
      if (id % 3 == 0) {
        transfers.emplace_back().node_id = id;
        transfers.back().group_size = 2;
      }
    }
    std::vector<std::uint64_t> begins;
    for (std::uint64_t id = kNodes / 2; id < kNodes; id += 14) {  // blocks that are alike
      begins.push_back(id);
    }
    const auto writer = *RankWriter::Create(directory, 0);
    AppendBlocks(*writer, std::move(nodes), &NodeInfo::node_id, begins);
    writer->Append(std::move(edges));
    writer->Append(std::move(joules));
    writer->Append(std::move(transfers));
    AppendBlocks(*writer, std::move(records), &NodeRecord::node_id, begins);
    ASSERT_TRUE(writer->Close());
  }
  void SetUp() override {
    RunDirectory::SetUp();
    Write(Directory(), 10);
    checksum_ = *ChecksumOf(RankPath(Directory(), 0));
  }

  // `checksum`: empty: rows are SQLite's.
  [[nodiscard]] RankData Read(RankContent content, const std::string& checksum) const {
    std::vector<std::string> notes;
    auto read = ReadRankFile(Directory(), 0, content, checksum, notes);
    EXPECT_TRUE(read) << read.error().message;
    return read ? std::move(*read) : RankData();
  }
  template <typename Row>
  static void ExpectSame(const std::vector<Row>& actual, const std::vector<Row>& expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      ASSERT_TRUE(HasSameShared(actual[i], expected[i])) << TableName(&actual[i]) << " " << i;
      ASSERT_EQ(OwnValuesOf(actual[i]), OwnValuesOf(expected[i]))
          << TableName(&actual[i]) << " " << i;
    }
  }
  static void ExpectSame(const RankData& actual, const RankData& expected) {
    ExpectSame(actual.nodes, expected.nodes);
    ExpectSame(actual.records, expected.records);
    ExpectSame(actual.edges, expected.edges);
    ExpectSame(actual.joules, expected.joules);
    ExpectSame(actual.collectives, expected.collectives);
  }
  [[nodiscard]] std::string Columns() const { return ColumnsPath(Directory(), 0); }
  [[nodiscard]] static std::string BytesOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void Store(const std::string& bytes) const {
    std::ofstream(Columns(), std::ios::binary) << bytes;
  }

  std::string checksum_;
};

TEST_F(RowColumnsTest, RowsAreTheSame) {
  EXPECT_FALSE(fs::exists(Columns()));  // of a small file
  const RankData whole = Read(RankContent::kWhole, "");
  const RankData transfers = Read(RankContent::kTransfers, "");
  EXPECT_GT(whole.nodes.size(), kRowsOfBlock);
  EXPECT_EQ(transfers.nodes.size(), transfers.collectives.size());
  ASSERT_TRUE(WriteRowColumns(Directory(), 0));
  ASSERT_TRUE(RowColumns::Read(Directory(), 0, checksum_));
  ExpectSame(Read(RankContent::kWhole, checksum_), whole);
  ExpectSame(Read(RankContent::kTransfers, checksum_), transfers);
  EXPECT_TRUE(Read(RankContent::kOutline, checksum_).nodes.empty());
}

// They name the file that they are of. With its checksum in theirs, those of another one are read:
// that rows do come from them.
TEST_F(RowColumnsTest, OnlyThoseOfTheFileAreRead) {
  const RankData own = Read(RankContent::kWhole, "");
  const std::string other = File("other");
  Write(other, 11);
  ASSERT_TRUE(WriteRowColumns(other, 0));
  std::string bytes = BytesOf(ColumnsPath(other, 0));
  Store(bytes);
  ExpectSame(Read(RankContent::kWhole, checksum_), own);
  const std::string other_sum = *ChecksumOf(RankPath(other, 0));
  bytes.replace(bytes.find(other_sum), other_sum.size(), checksum_);
  Store(bytes);
  ExpectSame(Read(RankContent::kWhole, checksum_), own);  // no longer what was written
  bytes.resize(bytes.size() - checksum_.size());
  Store(bytes + ChecksumOfBytes(bytes));
  EXPECT_EQ(Read(RankContent::kWhole, checksum_).records.front().duration_ns, 11);
  ExpectSame(Read(RankContent::kWhole, ""), own);  // whose checksum nobody verified
}

TEST_F(RowColumnsTest, DamagedOnesAreNotRead) {
  ASSERT_TRUE(WriteRowColumns(Directory(), 0));
  const RankData own = Read(RankContent::kWhole, "");
  const std::string bytes = BytesOf(Columns());
  for (std::size_t part = 0; part <= 16; ++part) {
    const std::size_t at = std::min(bytes.size() - 1, part * bytes.size() / 16);
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    Store(damaged);
    EXPECT_FALSE(RowColumns::Read(Directory(), 0, checksum_)) << at;
    Store(bytes.substr(0, at));
    EXPECT_FALSE(RowColumns::Read(Directory(), 0, checksum_)) << at;
  }
  ExpectSame(Read(RankContent::kWhole, checksum_), own);
  // Blocks that others wrote, under a checksum of theirs.
  std::string other = std::string(4'096, '\7') + bytes.substr(4'096, bytes.size() - 4'096 - 32);
  Store(other + ChecksumOfBytes(other));
  ExpectSame(Read(RankContent::kWhole, checksum_), own);
}

TEST_F(RowColumnsTest, LargeFilesGetThem) {
  {
    const auto writer = *RankWriter::Create(Directory(), 0);
    std::vector<NodeRecord> records;
    for (std::uint64_t id = 1; id <= 100'000; ++id) {
      records.push_back({.node_id = id, .start_ns = static_cast<std::int64_t>(id)});
    }
    writer->Append(std::move(records));
    EXPECT_FALSE(fs::exists(Columns()));
    ASSERT_TRUE(writer->Close());
  }
  EXPECT_TRUE(fs::exists(Columns()));
  ASSERT_TRUE(RankWriter::Create(Directory(), 0));  // replaces both
  EXPECT_FALSE(fs::exists(Columns()));
}

}  // namespace
}  // namespace reprise
