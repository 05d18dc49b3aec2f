// report/run/rank_facts.h: every fact comes back, is explained to users, and damage is reported.
#include "report/run/rank_facts.h"

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
using ::testing::IsEmpty;
using ::testing::Pair;

// Values that differ from each other where they can.
class FactFiller {
 public:
  void Fill(bool& value) { value = true; }
  void Fill(std::string& value) { value = fmt::format("text {}\nof two lines", ++number_); }
  void Fill(double& value) { value = 1e9 * ++number_ + 0.5e9; }
  void Fill(std::int64_t& value) { value = -++number_; }
  void Fill(std::uint64_t& value) { value = UINT64_MAX - static_cast<std::uint64_t>(++number_); }
  void Fill(ClockReading& value) { value = {++number_, -++number_, ++number_}; }
  void Fill(IterationLoad& value) { value = {++number_, 2, 3, 4, -1, 6, 7, ++number_}; }
  void Fill(ValueCounts& value) { value = {++number_, 0, ++number_, ++number_}; }
  template <typename T>
  void Fill(std::optional<T>& value) {
    Fill(value.emplace());
  }
  template <typename T>
  void Fill(std::vector<T>& values) {
    values.resize(2);
    Fill(values[0]);
    Fill(values[1]);
  }
  template <typename T>
  void Fill(Named<T>& entries) {
    entries = {{"aten::mm", T{}}, {"", T{}}};
    Fill(entries[0].second);
    Fill(entries[1].second);
  }

 private:
  std::int64_t number_ = 0;
};

RankFacts FilledFacts() {
  RankFacts facts;
  FactFiller filler;
  for (const RankFactRow& row : kRankFacts) {
    std::visit([&](auto member) { filler.Fill(facts.*member); }, row.member);
  }
  facts.others = {{"of.another.version", "any\ntext"}};
  return facts;
}

using RankFactsTest = RunDirectory;

TEST_F(RankFactsTest, EveryFactComesBackFromBothFiles) {
  const RankFacts facts = FilledFacts();
  ASSERT_TRUE(WriteManifest(Directory(), {}));
  auto writer = RankWriter::Create(Directory(), 0);
  ASSERT_TRUE(writer) << writer.error().message;
  (*writer)->SetFacts({.host = "replaced", .idle_begin_ns = 5});
  (*writer)->SetFacts(facts);
  (*writer)->SetFacts({});
  ASSERT_TRUE((*writer)->Close());
  ASSERT_TRUE(MergeRun(Directory()));
  for (const bool merged : {false, true}) {
    SCOPED_TRACE(merged ? "run.sqlite" : "rank0.sqlite");
    if (merged) {
      fs::remove(File("rank0.sqlite"));
    }
    const auto run = ReadRun(Directory());
    ASSERT_TRUE(run) << run.error().message;
    const RankFacts& read = run->ranks.at(0).facts;
    for (const RankFactRow& row : kRankFacts) {
      std::visit([&](auto member) { EXPECT_TRUE(read.*member == facts.*member) << row.name; },
                 row.member);
    }
    EXPECT_EQ(read.others, facts.others);
  }
}

// Texts are a format: the Python package and users' queries read them.
TEST(RankFacts, TextsAreThoseOfThePage) {
  const RankFacts facts{.device_flops_per_second = 33489512345.6,
                        .cores = {0, 12},
                        .modelled = true,
                        .clock_readings = {{0, -50, 9}, {100, -51, 9}},
                        .iteration_loads = {{0, 9, 8, 7, 6, 5, 4, 3}, {.iteration = 1}},
                        .exit_code = 0,
                        .values = {{"aten::mm", {524288, 1, 2, 3}}},
                        .trace_counters = {{"no_kernel: a", 7}}};
  std::vector<std::pair<std::string, std::string>> rows;
  for (const RunFact& row : FactRows(facts)) {
    rows.emplace_back(row.name, row.value);
  }
  EXPECT_THAT(rows,
              ElementsAre(Pair("device_flops_per_second", "3.34895e+10"), Pair("cores", "0,12"),
                          Pair("modelled", "true"), Pair("clock_readings", "0 -50 9; 100 -51 9"),
                          Pair("iteration_loads", "0 9 8 7 6 5 4 3; 1 0 0 -1 -1 -1 0 -1"),
                          Pair("exit_code", "0"), Pair("values.aten::mm", "524288 1 2 3"),
                          Pair("trace.no_kernel: a", "7")));
  EXPECT_THAT(FactRows({}), IsEmpty());
}

TEST(RankFacts, AValueOfAnotherTypeIsBadInput) {
  for (const RankFactRow& row : kRankFacts) {
    for (const char* damaged : {"x", "1,", "1 2 3 x", "0 0 0 0; 1", "-1e400", "tru", " 1", "1 "}) {
      RankFacts facts;
      const bool text = std::holds_alternative<std::string RankFacts::*>(row.member) ||
                        std::holds_alternative<Named<std::string> RankFacts::*>(row.member);
      const Status added = AddFact({std::string(row.name), damaged}, facts);
      ASSERT_EQ(added.has_value(), text) << row.name << " " << damaged;
      if (!text) {
        EXPECT_EQ(added.error().kind, ErrorKind::kBadInput);
      }
    }
  }
  RankFacts facts;
  EXPECT_FALSE(AddFact({"trace.negative", "-1"}, facts));
  EXPECT_FALSE(AddFact({"idle_begin_ns", ""}, facts));
  EXPECT_TRUE(AddFact({"cores", ""}, facts));  // of a host that names no cores
  EXPECT_THAT(facts.cores, IsEmpty());
}

TEST_F(RankFactsTest, ADamagedFactNamesFileAndRank) {
  ASSERT_TRUE(WriteManifest(Directory(), {.world_size = 2}));
  for (const int rank : {0, 1}) {
    auto writer = RankWriter::Create(Directory(), rank);
    ASSERT_TRUE(writer);
    if (rank == 1) {
      (*writer)->Append<RunFact>({{.name = "idle_end_ns", .value = "12 ns"}});
    }
    ASSERT_TRUE((*writer)->Close());
  }
  const auto run = ReadRun(Directory());
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(run.error().message,
              AllOf(HasSubstr("rank1.sqlite: rank 1: fact idle_end_ns is '12 ns'"),
                    HasSubstr("expected a whole number")));
}

// The table of the page below "### `facts`".
TEST(RankFacts, ThePageHasTheTable) {
  std::string table = "| name | value |\n|---|---|\n";
  for (const RankFactRow& row : kRankFacts) {
    table += fmt::format("| `{}{}` | {} |\n", row.name, row.name.ends_with('.') ? "<name>" : "",
                         row.meaning);
  }
  std::ifstream file(REPRISE_SOURCE_DIR "/docs/run_format.md");
  std::ostringstream page;
  page << file.rdbuf();
  EXPECT_THAT(page.str(), HasSubstr(table));
}

}  // namespace
}  // namespace reprise
