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
#include "report/run/run_texts.h"
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
    VisitColumns(row,
                 [this](const RunColumn& column, auto& member) { this->Fill(column, member); });
    return row;
  }

 private:
  template <typename T>
  void Fill(const RunColumn& column, T& member) {
    ++number_;
    if constexpr (std::is_same_v<T, bool>) {
      member = !member;
    } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, SharedText>) {
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

// Makes of a rank's file what version 10 had: tables, and no shared columns apart.
void MakeVersion10(const std::string& path) {
  Result<Database> database = Database::Open(path, Database::Access::kCreate);
  ASSERT_TRUE(database);
  for (const RunTable& table : RunTables()) {
    if (table.HasShared()) {
      const Status done = database->Execute(
          fmt::format("CREATE TABLE plain AS SELECT * FROM {0}; DROP VIEW {0};"
                      "CREATE TABLE {0} AS SELECT * FROM plain; DROP TABLE "
                      "plain; DROP TABLE {1}; DROP TABLE {2}; DROP TABLE {3}",
                      table.name, SharedOf(table.name), RowsOf(table.name), PartsOf(table.name)));
      ASSERT_TRUE(done) << done.error().message;
    }
  }
  ASSERT_TRUE(database->Execute("PRAGMA user_version=10"));
}

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
  for (const std::string_view from : {"rank0.sqlite", "version 10", "run.sqlite"}) {
    SCOPED_TRACE(from);
    const bool merged = from == "run.sqlite";
    if (from == "version 10") {
      fs::remove(File("checksums.xxh128"));
      MakeVersion10(File("rank0.sqlite"));
    } else if (merged) {
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

// Rows that have shared columns in common keep them once.
TEST_F(SchemaTest, SharedColumnsAreStoredOnce) {
  Filler filler;
  std::vector<NodeInfo> nodes(3, filler.Make<NodeInfo>());
  nodes[1].node_id = 2;
  nodes[2].name = "another";
  ASSERT_TRUE(WriteManifest(Directory(), {}));
  {
    auto writer = RankWriter::Create(Directory(), 3);
    ASSERT_TRUE(writer);
    (*writer)->Append(nodes);
    (*writer)->Append(std::vector<NodeInfo>{nodes[0]});  // a later batch
    ASSERT_TRUE((*writer)->Close());
  }
  auto database = Database::Open(File("rank3.sqlite"), Database::Access::kRead);
  ASSERT_TRUE(database);
  auto select = database->Prepare(
      "SELECT (SELECT count(*) FROM node_info_shared), group_concat(shared, ' '),"
      " (SELECT group_concat(rank || name, ' ') FROM nodes) FROM node_info_rows");
  ASSERT_TRUE(select) << select.error().message;
  ASSERT_TRUE(select->Next().value_or(false));
  EXPECT_EQ(select->Int(0), 2);
  EXPECT_EQ(select->Text(1), "1 1 2 1");
  EXPECT_EQ(select->Text(2), fmt::format("3{0} 3{0} 3another 3{0}", nodes[0].name));
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
  for (const int version : {kOldestRunSchema - 1, kRunSchemaVersion + 1}) {
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
                  AllOf(HasSubstr(fmt::format("has schema version {}, this program reads {} to {}",
                                              version, kOldestRunSchema, kRunSchemaVersion)),
                        HasSubstr("replay the trace again")));
      fs::remove(File(file));
    }
  }
}

// A definition that is not this program's is refused before anything reads by it: the first of
// these would never end.
TEST_F(SchemaTest, AForeignDefinitionIsRefused) {
  std::ifstream statements(REPRISE_SOURCE_DIR "/tests/run/foreign_definitions.txt");
  int count = 0;
  for (std::string foreign; std::getline(statements, foreign); count += foreign[0] != '#') {
    if (foreign[0] == '#') {
      continue;
    }
    for (const char* file : {"run.sqlite", "rank0.sqlite"}) {
      ASSERT_TRUE(WriteManifest(Directory(), {}));
      ASSERT_TRUE((*RankWriter::Create(Directory(), 0))->Close());
      ASSERT_TRUE(MergeRun(Directory()));
      fs::remove(File("checksums.xxh128"));
      {
        Result<Database> database = Database::Open(File(file), Database::Access::kCreate);
        ASSERT_TRUE(database);
        const Status changed = database->Execute(foreign);
        ASSERT_TRUE(changed) << changed.error().message;
      }
      const auto run = ReadRun(Directory());
      const auto texts = ReadTexts(Directory());
      // A report needs only one of the two files; what is shared is read from both.
      ASSERT_FALSE(texts) << file << ": " << foreign;
      EXPECT_EQ(texts.error().kind, ErrorKind::kBadInput);
      EXPECT_THAT(texts.error().message, AllOf(HasSubstr(file), HasSubstr("did not define its")));
      EXPECT_FALSE(run && std::string_view(file) == "rank0.sqlite") << foreign;
      fs::remove(File("run.sqlite"));
      fs::remove(File("rank0.sqlite"));
    }
  }
  EXPECT_GE(count, 4);
  // Indexes may be added.
  ASSERT_TRUE((*RankWriter::Create(Directory(), 0))->Close());
  Result<Database> database = Database::Open(File("rank0.sqlite"), Database::Access::kCreate);
  ASSERT_TRUE(database && database->Execute("CREATE INDEX mine ON steps(start_ns)"));
  fs::remove(File("checksums.xxh128"));
  EXPECT_TRUE(ReadRun(Directory()));
}

}  // namespace
}  // namespace reprise
