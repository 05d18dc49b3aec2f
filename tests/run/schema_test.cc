// report/run/schema.def: every column comes back, is explained to users, and another version is
// refused.
#include "report/run/schema.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "report/run/run.h"
#include "report/run/table_rows.h"
#include "tests/run/run_directory.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A row whose members all differ from their defaults, and from each other where they can.
class Filler {
 public:
  template <typename Row>
  Row Make() {
    Row row;
    VisitColumns(row, [this](const RunColumn& column, auto& member) { Fill(column, member); });
    return row;
  }

 private:
  template <typename T>
  void Fill(const RunColumn& column, T& member) {
    ++number_;
    if constexpr (std::is_same_v<T, bool>) {
      member = !member;
    } else if constexpr (std::is_same_v<T, std::string>) {
      member = fmt::format("{} {}", column.name, number_);
    } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
      member = {number_, 0, -number_};
    } else if constexpr (std::is_enum_v<T>) {
      member = member == T{} ? static_cast<T>(1) : T{};
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      member = UINT64_MAX - static_cast<std::uint64_t>(number_);
    } else if constexpr (std::is_floating_point_v<T>) {
      member = static_cast<T>(number_) + 0.25;
    } else {
      member = static_cast<T>(1'000 + number_);
    }
  }
  std::int64_t number_ = 0;
};

template <typename Row>
void ExpectSame(const std::vector<Row>& actual, const Row& expected) {
  ASSERT_EQ(actual.size(), 1U) << TableName(&expected);
  std::vector<std::string> texts;
  VisitColumns(expected, [&](const RunColumn& /*column*/, const auto& member) {
    texts.push_back(fmt::format("{}", Stored(member)));
  });
  std::size_t index = 0;
  VisitColumns(actual.front(), [&](const RunColumn& column, const auto& member) {
    EXPECT_EQ(fmt::format("{}", Stored(member)), texts[index++])
        << TableName(&expected) << "." << column.name;
  });
}

using SchemaTest = RunDirectory;

TEST_F(SchemaTest, EveryColumnComesBackFromBothFiles) {
  Filler filler;
  const auto node = filler.Make<NodeInfo>();
  const auto edge = filler.Make<EdgeInfo>();
  const auto collective = filler.Make<CollectiveInfo>();
  const auto meter = filler.Make<MeteredDevice>();
  const auto metric = filler.Make<Metric>();
  const auto record = filler.Make<NodeRecord>();
  const auto joules = filler.Make<NodeJoules>();
  const auto step = filler.Make<StepRecord>();
  const auto sample = filler.Make<Sample>();
  const auto device = filler.Make<RunDevice>();
  ASSERT_TRUE(WriteManifest(Directory(), {}));
  auto writer = RankWriter::Create(Directory(), 0);
  ASSERT_TRUE(writer) << writer.error().message;
  (*writer)->Append<NodeInfo>({node});
  (*writer)->Append<EdgeInfo>({edge});
  (*writer)->Append<CollectiveInfo>({collective});
  (*writer)->Append<MeteredDevice>({meter});
  (*writer)->Append<Metric>({metric});
  (*writer)->Append<NodeRecord>({record});
  (*writer)->Append<NodeJoules>({joules});
  (*writer)->Append<StepRecord>({step});
  (*writer)->Append<Sample>({sample});
  (*writer)->Append<RunDevice>({device});
  const auto fact = filler.Make<RunFact>();
  (*writer)->Append<RunFact>({fact});
  ASSERT_TRUE((*writer)->Close());
  ASSERT_TRUE(MergeRun(Directory()));
  for (const bool merged : {false, true}) {
    SCOPED_TRACE(merged ? "run.sqlite" : "rank0.sqlite");
    if (merged) {
      fs::remove(File("rank0.sqlite"));
    }
    const auto run = ReadRun(Directory());
    ASSERT_TRUE(run) << run.error().message;
    const RankData& rank = run->ranks.at(0);
    ExpectSame(rank.nodes, node);
    ExpectSame(rank.edges, edge);
    ExpectSame(rank.collectives, collective);
    ExpectSame(rank.meters, meter);
    ExpectSame(rank.metrics, metric);
    ExpectSame(rank.joules, joules);
    ExpectSame(rank.steps, step);
    ExpectSame(rank.samples, sample);
    ExpectSame(rank.devices, device);
    EXPECT_THAT(rank.facts.others, ElementsAre(Pair(fact.name, fact.value)));
    EXPECT_TRUE(rank.closed);
    if (!merged) {
      ExpectSame(rank.records, record);
    }
  }
}

// The part of the page below the heading that names the table.
std::string SectionOf(const std::string& page, std::string_view table) {
  std::size_t at = 0;
  while ((at = page.find("\n### ", at)) != std::string::npos) {
    const std::size_t end = page.find('\n', at + 1);
    if (page.substr(at, end - at).find(fmt::format("`{}`", table)) != std::string::npos) {
      return page.substr(end, page.find("\n#", end) - end);
    }
    at = end;
  }
  return "";
}

TEST(Schema, ThePageExplainsEveryColumn) {
  const std::string page = TextOf(REPRISE_SOURCE_DIR "/docs/run_format.md");
  const std::string version = fmt::format("`PRAGMA user_version` is {}.", kRunSchemaVersion);
  EXPECT_NE(page.find(version), std::string::npos) << version;
  for (const RunTable& table : RunTables()) {
    const std::string_view name = table.medians.empty() ? table.name : "nodes";
    const std::string section = SectionOf(page, name);
    ASSERT_NE(section, "") << name;
    for (const auto* columns : {&table.columns, &table.medians}) {
      for (const RunColumn& column : *columns) {
        EXPECT_NE(section.find(fmt::format("`{}`", column.name)), std::string::npos)
            << name << "." << column.name;
      }
    }
  }
}

// A file of another version is refused: what was found, what is read, what to do.
TEST_F(SchemaTest, AnotherVersionIsRefused) {
  for (const int version : {kRunSchemaVersion - 1, kRunSchemaVersion + 1}) {
    ASSERT_TRUE(WriteManifest(Directory(), {}));
    ASSERT_TRUE((*RankWriter::Create(Directory(), 0))->Close());
    ASSERT_TRUE(MergeRun(Directory()));
    fs::remove(File("checksums.xxh128"));
    for (const char* file : {"run.sqlite", "rank0.sqlite"}) {
      Result<Database> database = Database::Open(File(file), Database::Access::kCreate);
      ASSERT_TRUE(database);
      ASSERT_TRUE(database->Execute(fmt::format("PRAGMA user_version={}", version)));
      const auto run = ReadRun(Directory());
      ASSERT_FALSE(run);
      EXPECT_EQ(run.error().kind, ErrorKind::kBadInput);
      EXPECT_THAT(run.error().message,
                  AllOf(HasSubstr(fmt::format("has schema version {}, this program reads only {}",
                                              version, kRunSchemaVersion)),
                        HasSubstr("replay the trace again")));
      fs::remove(File(file));
    }
  }
}

}  // namespace
}  // namespace reprise
