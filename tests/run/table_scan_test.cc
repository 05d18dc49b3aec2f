// Whether pages read by ourselves hold what SQLite says they hold.
#include "report/run/table_scan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/run/run_directory.h"

namespace reprise {
namespace {

const std::vector<std::string_view> kColumns = {"rank", "number", "amount", "name"};

class TableScanTest : public RunDirectory {
 protected:
  void SetUp() override {
    RunDirectory::SetUp();
    path_ = File("rows.sqlite");
    auto database = Database::Open(path_, Database::Access::kCreate);
    ASSERT_TRUE(database);
    // Rows of all sizes of integers, one over many pages, and enough for several levels of pages.
    ASSERT_TRUE(database->Execute(
        "PRAGMA page_size=512; BEGIN;"
        "CREATE TABLE other(rank INTEGER);"
        "CREATE TABLE rows(rank INTEGER, number INTEGER, amount REAL, name TEXT);"
        "WITH RECURSIVE k(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM k WHERE i < 5000)"
        "INSERT INTO rows SELECT i % 3, (1 << (i % 63)) - 1 - i % 2 * (i * 77777), i * 0.5,"
        "  substr('some operation', 1, i % 15) FROM k;"
        "INSERT INTO rows VALUES(7, -9223372036854775807 - 1, -1e300, NULL);"
        "INSERT INTO rows VALUES(7, NULL, NULL, replace(hex(zeroblob(40000)), '00', 'row.'));"
        "INSERT INTO rows VALUES(7, 9223372036854775807, 3, x'00ff'); COMMIT;"));
  }
  [[nodiscard]] Result<std::optional<TableScan>> Scan(Database& database) const {
    return TableScan::Open(database, path_, "rows", kColumns);
  }

  std::string path_;
};

TEST_F(TableScanTest, RowsAreThoseOfAStatement) {
  auto database = Database::Open(path_, Database::Access::kRead);
  ASSERT_TRUE(database);
  auto scan = Scan(*database);
  ASSERT_TRUE(scan && *scan);
  auto select = database->Prepare("SELECT number, amount, name, rank FROM rows ORDER BY rowid");
  ASSERT_TRUE(select);
  int rows = 0;
  for (;; ++rows) {
    const auto expected = select->Next();
    const auto more = (*scan)->Next();
    ASSERT_TRUE(expected && more) << rows;
    ASSERT_EQ(*more, *expected) << rows;
    if (!*more) {
      break;
    }
    ASSERT_EQ((*scan)->First(), select->Int(3)) << rows;
    ASSERT_EQ((*scan)->Int(0), select->Int(0)) << rows;
    for (int column = 0; column < 3; ++column) {
      ASSERT_EQ((*scan)->StoredType(column) == StoredAs::kNothing,
                select->StoredType(column) == StoredAs::kNothing);
    }
    if (select->StoredType(1) != StoredAs::kNothing) {
      ASSERT_EQ((*scan)->Real(1), select->Real(1)) << rows;
    }
    ASSERT_EQ((*scan)->StoredType(2), select->StoredType(2)) << rows;
    ASSERT_EQ((*scan)->View(2), select->View(2)) << rows;
  }
  EXPECT_EQ(rows, 5004);
}

TEST_F(TableScanTest, OtherColumnsAndLogsAreLeftToStatements) {
  auto database = Database::Open(path_, Database::Access::kCreate);
  ASSERT_TRUE(database);
  auto scan = TableScan::Open(*database, path_, "rows", {{"rank", "amount", "number", "name"}});
  ASSERT_TRUE(scan);
  EXPECT_FALSE(*scan);
  scan = TableScan::Open(*database, path_, "none", kColumns);
  ASSERT_TRUE(scan);
  EXPECT_FALSE(*scan);
  ASSERT_TRUE(database->Execute("PRAGMA journal_mode=WAL; INSERT INTO rows VALUES(1, 1, 1, '')"));
  scan = Scan(*database);
  ASSERT_TRUE(scan);
  EXPECT_FALSE(*scan);
}

// A byte changed anywhere: rows or an error that names the file, never more rows than bytes.
TEST_F(TableScanTest, DamageIsReported) {
  const auto size = std::filesystem::file_size(path_);
  int failed = 0;
  for (std::uintmax_t at = 1024; at < size; at += 509) {
    std::filesystem::copy_file(path_, File("damaged"),
                               std::filesystem::copy_options::overwrite_existing);
    std::fstream(File("damaged"), std::ios::in | std::ios::out | std::ios::binary)
        .seekp(static_cast<std::streamoff>(at))
        .put('\xff');
    auto database = Database::Open(File("damaged"), Database::Access::kRead);
    if (!database) {
      continue;
    }
    auto scan = TableScan::Open(*database, File("damaged"), "rows", kColumns);
    if (!scan || !*scan) {
      continue;
    }
    std::uintmax_t rows = 0;
    Result<bool> more = true;
    while ((more = (*scan)->Next()) && *more) {
      for (int column = 0; column < 3; ++column) {
        (void)(*scan)->Text(column);
      }
      ASSERT_LT(++rows, size);
    }
    if (!more) {
      ++failed;
      EXPECT_EQ(more.error().kind, ErrorKind::kBadInput);
      EXPECT_THAT(more.error().message, testing::HasSubstr("damaged: damaged or not a run's"));
    }
  }
  EXPECT_GT(failed, 10);
}

}  // namespace
}  // namespace reprise
