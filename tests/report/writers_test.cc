// What people and programs get to see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "report/analysis.h"
#include "report/sections/sections.h"
#include "report/text/table.h"
#include "report/values/report.h"
#include "tests/report/synthetic_run.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

Report LargeReport() {
  RunData run = MakeRun();
  run.manifest.oversubscribed = true;
  run.manifest.hosts = {"a-host-with-a-very-long-name.example.org", "h"};
  run.manifest.devices = {"opencl: A Device Whose Vendor Likes Words (R) (TM) Edition 2", "none"};
  run.notes = {"a note " + std::string(60, 'x') +
               " that is longer than what fits into one line of " + std::string(90, 'y')};
  for (RankData& data : run.ranks) {
    for (int i = 0; i < 40; ++i) {
      const std::uint64_t id = 100 + i;
      CollectiveInfo info = MakeTransfer(id, CommKind::kReduceScatter, 123'456'789'012 + i, 1'024);
      info.spec.group = "a group whose name is longer than any column " + std::to_string(i);
      data.collectives.push_back(info);
      data.nodes.push_back(MakeNode(id, OpClass::kComm, OpKind::kComm, "g", 0, 123'456'789'012));
      data.records.push_back(MakeRecord(id, 1, ReplayMode::kSurrogate, 0, 987'654'321));
    }
  }
  run.ranks[0].metrics.push_back({.id = 0,
                                  .name = "resident_memory",
                                  .unit = "bytes",
                                  .device = "a device with a long name (hwmon10/temp12)",
                                  .source = "model",
                                  .modelled = true});
  run.ranks[0].metrics.push_back({.id = 1,
                                  .name = "cpu_power",
                                  .unit = "watts",
                                  .device = "a device with a long name (hwmon10/temp12)",
                                  .source = "model",
                                  .modelled = true});
  for (int ms = 20; ms < 30; ++ms) {
    run.ranks[0].samples.push_back({.metric = 0, .time_ns = ms * 1'000'000LL, .value = 123e9});
    run.ranks[0].samples.push_back({.metric = 1, .time_ns = ms * 1'000'000LL, .value = 123.456});
  }
  return Analyze(run);
}

TEST(Console, TheVerdictIsFirstThenCoverageAndStep) {
  const Report report = AnalyzeRun(MeasuredRun(MakeRun()), {.same_machine = true}).report;
  EXPECT_THAT(FullText(report, false), StartsWith("Replay 1.60 us; your job 800 ns untraced: "));
  const std::vector<std::string> lines = Lines(SectionText(report, "step", false).value());
  EXPECT_THAT(lines.at(0),
              StartsWith("Coverage        real 80.0 % of the recorded step, pauses 20.0 % "
                         "(waiting 5.0 %, host work 15.0 %)"));
  EXPECT_THAT(lines.at(1), HasSubstr("recorded 1.00 us, replayed 1.60 us"));
  EXPECT_THAT(lines.at(2), HasSubstr("step +60.0 % against the traced step, +100.0 % against the"));
  EXPECT_THAT(lines.at(3), HasSubstr("operations +100.0 %"));
}

TEST(Console, FitsIntoAHundredColumnsAndColoursOnlyWhereAsked) {
  for (const Report& report : {Analyze(MakeRun()), LargeReport()}) {
    const std::string text = FullText(report, false);
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    for (const std::string& line : Lines(text)) {
      EXPECT_LE(line.size(), 100U) << line;
    }
    EXPECT_THAT(FullText(report, true), HasSubstr("\x1b[1m"));
  }
  EXPECT_THAT(FullText(LargeReport(), false), HasSubstr("17 rows more"));
  EXPECT_THAT(FullText(LargeReport(), false), HasSubstr("model (modelled)"));
}

TEST(Console, SaysWhatIsUnknown) {
  RunData run;
  run.ranks.resize(1);
  const std::string text = FullText(Analyze(run), false);
  EXPECT_THAT(text, HasSubstr("recorded -, replayed -"));
  EXPECT_THAT(text, HasSubstr("untraced step time unknown"));
  EXPECT_THAT(text, HasSubstr("Energy          unknown"));
}

TEST(Json, HasTheKeysThatOthersRelyOn) {
  RunData run = MakeRun();
  run.manifest.oversubscribed = true;
  const auto json = nlohmann::json::parse(JsonText(Analyze(run)));
  EXPECT_DOUBLE_EQ(json.at("coverage").at("real").get<double>(), 0.8);
  EXPECT_DOUBLE_EQ(json.at("coverage").at("waiting").get<double>(), 0.05);
  EXPECT_DOUBLE_EQ(json.at("coverage").at("host").get<double>(), 0.15);
  EXPECT_EQ(json.at("coverage").at("timed"), 0);
  EXPECT_EQ(json.at("coverage").at("skipped"), 0);
  EXPECT_EQ(json.at("oversubscribed"), true);
  EXPECT_EQ(json.at("step_time_recorded_ns"), 1'000);
  EXPECT_EQ(json.at("step_time_untraced_ns"), 800);
  EXPECT_EQ(json.at("step_time_replayed_ns"), 1'600);
  EXPECT_EQ(json.at("ranks").size(), 2U);
  EXPECT_EQ(json.at("ranks")[1].at("rank"), 1);
  ASSERT_EQ(json.at("collectives").size(), 1U);
  const auto& row = json.at("collectives")[0];
  EXPECT_EQ(row.at("name"), "all_gather");
  EXPECT_EQ(row.at("group"), "tp");
  EXPECT_EQ(row.at("bytes"), 1'100);
  EXPECT_DOUBLE_EQ(row.at("algbw_gb_per_s").get<double>(), 10.0);
  EXPECT_DOUBLE_EQ(row.at("busbw_gb_per_s").get<double>(), 5.0);
  EXPECT_TRUE(json.at("energy_joules").is_null());
  EXPECT_TRUE(json.at("energy_source").is_null());
  EXPECT_EQ(json.at("classes")[0].at("name"), "gemm");
}

TEST(Json, UnknownIsNull) {
  RunData run = MakeRun();
  run.manifest.untraced_step_ns = -1;
  for (RankData& rank : run.ranks) {
    rank.steps.clear();
  }
  const auto json = nlohmann::json::parse(JsonText(Analyze(run)));
  EXPECT_TRUE(json.at("step_time_untraced_ns").is_null());
  EXPECT_TRUE(json.at("step_time_replayed_ns").is_null());
  EXPECT_TRUE(json.at("collectives")[0].at("busbw_gb_per_s").is_null());
}

TEST(Notes, CountersReadAsSentences) {
  Report report = Analyze(MakeRun());
  report.diagnostics = {{"trace.storage_contradiction", 159}, {"diagnostic.no_kernel: aten::x", 2}};
  const auto text = SectionText(report, "notes", false);
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, HasSubstr("  - 2 operations without a kernel, replayed as surrogates: aten::x "
                               "(changes the reading)\n"
                               "  - 159 storage conflicts resolved, harmless\n"));
  EXPECT_THAT(*text, Not(HasSubstr("storage_contradiction")));
}

TEST(Section, OfAMistypedNameIsAnsweredWithTheNearest) {
  const auto text = SectionText(Analyze(MakeRun()), "trasfers", false);
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message, HasSubstr("did you mean transfers?"));
}

TEST(Units, AreShortAndDoNotOverflowTheirPrefix) {
  EXPECT_EQ(DurationText(812), "812 ns");
  EXPECT_EQ(DurationText(4'567), "4.57 us");
  EXPECT_EQ(DurationText(12'340'000), "12.3 ms");
  EXPECT_EQ(DurationText(999'960'000), "1.00 s");
  EXPECT_EQ(DurationText(-5'000), "-5.00 us");
  EXPECT_EQ(DurationText(std::nullopt), "-");
  EXPECT_EQ(BytesText(512), "512 B");
  EXPECT_EQ(BytesText(1'048'576), "1.05 MB");
  EXPECT_EQ(ErrorText(-0.0314), "-3.1 %");
  EXPECT_EQ(Fit("abcdefghij", 6), "ab..ij");
}

}  // namespace
}  // namespace reprise
