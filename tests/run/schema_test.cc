// run/schema.def: every column comes back, is explained to users, and runs of earlier versions
// open. tests/run/older has a run as each version stored it: its tables, cut to a few rows.
#include "run/schema.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "run/run.h"
#include "run/table_rows.h"
#include "tests/run/run_directory.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;

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
  (*writer)->SetFact("name", "first\nsecond");
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
    EXPECT_EQ(rank.facts.at("name"), "first\nsecond");
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

// A run of one rank as a program of that version left it.
class OlderRuns : public RunDirectory, public ::testing::WithParamInterface<int> {
 protected:
  void Restore(const std::string& name) {
    Result<Database> file = Database::Open(File(name + ".sqlite"), Database::Access::kCreate);
    ASSERT_TRUE(file);
    const std::string sql = TextOf(fmt::format("{}/schema{}_{}.sql", kDirectory, GetParam(), name));
    const Status done = file->Execute("BEGIN;" + sql + "COMMIT;");
    ASSERT_TRUE(done) << done.error().message;
    fs::copy_file(std::string(kDirectory) + "/manifest.json", File("manifest.json"),
                  fs::copy_options::overwrite_existing);
  }
  static constexpr char kDirectory[] = REPRISE_SOURCE_DIR "/tests/run/older";
};

TEST_P(OlderRuns, Open) {
  const int version = GetParam();
  Restore("rank0");
  const auto run = ReadRun(Directory());
  ASSERT_TRUE(run) << run.error().message;
  const RankData& rank = run->ranks.at(0);
  ASSERT_EQ(rank.nodes.size(), 7U);
  const NodeInfo& gemm = rank.nodes[3];
  EXPECT_EQ(gemm.name, "aten::addmm");
  EXPECT_EQ(gemm.op_class, OpClass::kGemm);
  EXPECT_EQ(gemm.flops, 454164480);
  EXPECT_EQ(gemm.recorded_duration_ns, 5011106);
  // What a version lacks has its default, the rest is as it was stored.
  EXPECT_EQ(gemm.recorded_elapsed_ns == NodeInfo::kUnknownNs, version < 2);
  EXPECT_EQ(gemm.phase, version < 4 ? Phase::kOther : Phase::kForward);
  EXPECT_EQ(gemm.recorded_tracing_ns == 0, version < 5);
  EXPECT_EQ(gemm.shape, version < 6 ? "" : "[1152] [512,384] [384,1152]");
  EXPECT_EQ(gemm.work_from, version < 7 ? WorkSource::kNone : WorkSource::kArguments);
  EXPECT_EQ(gemm.time_from, version < 8 ? TimeSource::kNone : TimeSource::kScaled);
  EXPECT_EQ(rank.records.size(), 21U);
  EXPECT_EQ(rank.edges.size(), 6U);
  ASSERT_EQ(rank.collectives.size(), 2U);
  EXPECT_EQ(rank.collectives[1].transfer_ns, -1);
  EXPECT_EQ(rank.collectives[1].spec.in_bytes, 17541120);
  EXPECT_EQ(rank.steps.size(), 3U);
  EXPECT_EQ(rank.samples.size(), 9U);
  ASSERT_EQ(rank.metrics.size(), 3U);
  EXPECT_EQ(rank.metrics[0].kind, MetricKind::kCounter);
  EXPECT_EQ(rank.metrics[1].kind, MetricKind::kGauge);
  EXPECT_EQ(rank.metrics[0].help.empty(), version < 3);
  EXPECT_EQ(rank.devices.at(0).memory_bytes, 25276514304);
  const DevicePlacement placed = rank.devices.at(0).placement;
  EXPECT_EQ(placed.numa_node, version < 9 ? -1 : 1);
  EXPECT_EQ(placed.links, version < 9 ? -1 : 4);
  EXPECT_EQ(placed.link_neighbours, version < 9 ? "" : "switch x4");
  ASSERT_EQ(rank.joules.size(), version < 9 ? 0U : 1U);
  if (version >= 9) {
    EXPECT_EQ(rank.joules[0].node_id, 14U);
    EXPECT_EQ(rank.joules[0].above_idle_joules, 0.25);
  }
  EXPECT_EQ(rank.host, "vm");
  EXPECT_TRUE(rank.closed);
  EXPECT_EQ(rank.facts.at("computes_on"), "cpu");
  const bool says = testing::Value(run->notes, Contains(HasSubstr("did not tell phases")));
  EXPECT_EQ(says, version < 4);
}
INSTANTIATE_TEST_SUITE_P(Schema, OlderRuns, ::testing::Range(1, 10));

class OlderMergedRuns : public OlderRuns {};

TEST_P(OlderMergedRuns, Open) {
  Restore("run");
  const auto run = ReadRun(Directory());
  ASSERT_TRUE(run) << run.error().message;
  const RankData& rank = run->ranks.at(0);
  EXPECT_EQ(rank.nodes.size(), 7U);
  EXPECT_EQ(rank.records.size(), 7U);  // medians
  EXPECT_EQ(rank.nodes[0].recorded_elapsed_ns == NodeInfo::kUnknownNs, GetParam() < 2);
  EXPECT_EQ(rank.metrics.at(0).kind, MetricKind::kCounter);
}
INSTANTIATE_TEST_SUITE_P(Schema, OlderMergedRuns, ::testing::Values(1, 7));

}  // namespace
}  // namespace reprise
