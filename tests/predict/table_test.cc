// Rows of a sweep: as JSON and back, their ranks and front, their figures.
#include "predict/sweep/table.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "predict/sweep/figures.h"

namespace reprise {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kMillisecond = 1'000'000;

SweepRow Row(const std::string& tp, std::int64_t ms, double joules, std::int64_t gigabytes) {
  SweepRow row{.values = {tp, "2"}, .model = "gpt", .layout = "tp" + tp, .possible = true};
  row.tp = std::stoll(tp);
  row.ranks = 8;
  row.micro_batch = 2;
  row.tokens = 1000;
  row.samples = 10;
  row.step_time_ns = ms * kMillisecond;
  row.energy_joules = joules;
  row.tokens_per_second = 1e6 / static_cast<double>(ms);
  row.mean_watts = 300;
  row.mfu = 0.5;
  row.machine = "m";
  row.peak_bytes = gigabytes * 1'000'000'000;
  row.of_bytes = 80'000'000'000;
  row.fits = gigabytes <= 80;
  row.default_share = 0.05;
  row.bubble_ns = row.exposed_communication_ns = kMillisecond;
  return row;
}

SweepTable Table() {
  SweepTable table{.title = "gpt on m", .keys = {{.name = "tp"}, {.name = "micro-batch"}}};
  table.rows = {Row("1", 30, 90, 90), Row("2", 20, 80, 40), Row("4", 10, 100, 20),
                Row("8", 25, 85, 10)};
  table.rows.push_back(
      {.values = {"3", "2"}, .model = "gpt", .layout = "tp3", .reason = "3 heads"});
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    table.rows[i].place = i;
  }
  return table;
}

std::vector<std::string> Order(const SweepTable& table) {
  std::vector<std::string> layouts;
  for (const SweepRow& row : table.rows) {
    layouts.push_back(row.layout + (row.pareto ? "*" : ""));
  }
  return layouts;
}

TEST(SweepTables, RankWhatFitsAndMarkTheFront) {
  SweepTable table = Table();
  ASSERT_TRUE(RankRows(table));
  // By time; tp8 is slower than tp2 and takes more energy; tp1 does not fit, tp3 cannot be.
  EXPECT_THAT(Order(table), ElementsAre("tp4*", "tp2*", "tp8", "tp1", "tp3"));
  EXPECT_EQ(table.rows[2].rank, 3);
  EXPECT_EQ(table.rows[3].rank, std::nullopt);
  table.rank_by = "energy";
  ASSERT_TRUE(RankRows(table));
  EXPECT_THAT(Order(table), ElementsAre("tp2*", "tp8", "tp4*", "tp1", "tp3"));
  table.rank_by = "memory";
  ASSERT_TRUE(RankRows(table));
  EXPECT_THAT(Order(table), ElementsAre("tp8", "tp4*", "tp2*", "tp1", "tp3"));
  const SweepCounts counts = CountRows(table);
  EXPECT_EQ(std::tuple(counts.fit, counts.do_not_fit, counts.cannot_be), std::tuple(3U, 1U, 1U));
}

// What was not simulated has its memory, and stands where it belongs: what lacks the least first.
TEST(SweepTables, ShowHowMuchDoesNotFit) {
  SweepTable table = Table();
  for (const auto& [tp, gigabytes] : {std::pair("16", 200.0), std::pair("32", 85.0)}) {
    MachineModel machine;
    machine.name = "m";
    machine.device.memory_bytes.value = 80e9;
    SweepRow row{.values = {tp, "2"}, .model = "gpt", .layout = std::string("tp") + tp};
    TakeEstimate({.peak_bytes = gigabytes * 1e9}, machine, row);
    table.rows.push_back(std::move(row));
  }
  ASSERT_TRUE(RankRows(table));
  EXPECT_THAT(Order(table), ElementsAre("tp4*", "tp2*", "tp8", "tp32", "tp1", "tp16", "tp3"));
  EXPECT_TRUE(table.same_batch);
  const SweepCounts counts = CountRows(table);
  EXPECT_EQ(std::tuple(counts.do_not_fit, counts.not_simulated), std::tuple(3U, 2U));
  EXPECT_EQ(table.rows[3].LeftBytes(), -5'000'000'000);
  const std::string text = SweepText(table);
  EXPECT_THAT(text, HasSubstr("3 fit in memory, 3 do not (2 of them estimated, not simulated)"));
  EXPECT_THAT(text, HasSubstr("-4.66 GiB: tp=32 micro-batch=2"));
  const std::string page = SweepPage(table);
  EXPECT_THAT(page, HasSubstr(">-4.66</td>"));
  EXPECT_THAT(page, HasSubstr("W a device, mean"));
  // As JSON and back; figures have what has times.
  const auto again = ParseSweepTable(SweepJson(table), "sweep.json");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->rows[3].LeftBytes(), -5'000'000'000);
  EXPECT_EQ(again->rows[3].simulated, false);
  EXPECT_EQ(SweepJson(*again), SweepJson(table));
  const auto figures = SweepFiguresJson(table);
  ASSERT_TRUE(figures);
  EXPECT_THAT(*figures, HasSubstr("2 configurations that do not fit are in the table alone."));
}

TEST(SweepTables, WithoutEnergiesTheFrontIsOfMemory) {
  SweepTable table = Table();
  for (SweepRow& row : table.rows) {
    row.energy_joules.reset();
  }
  ASSERT_TRUE(RankRows(table));
  EXPECT_THAT(Order(table), ElementsAre("tp4*", "tp2", "tp8*", "tp1", "tp3"));
  table.rank_by = "energy";
  EXPECT_THAT(RankRows(table).error().message, HasSubstr("no configuration has an energy"));
}

TEST(SweepTables, CompareJobsOfOtherBatchesByToken) {
  SweepTable table = Table();
  table.rows[0].fits = true;
  table.rows[0].tokens = 4000;  // 7.5 ms for a thousand
  ASSERT_TRUE(RankRows(table));
  EXPECT_FALSE(table.same_batch);
  EXPECT_EQ(table.rows[0].layout, "tp1");
  EXPECT_EQ(SecondsLabel(table), "s for a million tokens");
  EXPECT_DOUBLE_EQ(ShownSeconds(table, table.rows[0]), 7.5);
}

TEST(SweepTables, RankModelsAmongThemselves) {
  SweepTable table = Table();
  table.several_models = true;
  table.rows[2].model = table.rows[3].model = "other";
  ASSERT_TRUE(RankRows(table));
  EXPECT_THAT(Order(table), ElementsAre("tp2*", "tp1", "tp3", "tp4*", "tp8*"));
  EXPECT_EQ(table.rows[0].rank, 1);
  EXPECT_EQ(table.rows[3].rank, 1);
}

TEST(SweepTables, AreWhatTheirJsonSays) {
  SweepTable table = Table();
  ASSERT_TRUE(RankRows(table));
  const std::string text = SweepJson(table);
  const auto read = ParseSweepTable(text, "sweep.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(SweepJson(*read), text);
  const ordered_json first = ordered_json::parse(text)["configurations"][0];
  EXPECT_EQ(first["tp"], "4");  // as it was given
  EXPECT_EQ(first["ranks"], 8);
  EXPECT_EQ(first["step_time_ns"], 10 * kMillisecond);
  EXPECT_TRUE(first["hfu"].is_null());  // absent is not zero
  std::ostringstream csv;
  WriteCsv(table, csv);
  EXPECT_THAT(csv.str(), HasSubstr("rank,pareto,configuration,"));
  EXPECT_THAT(csv.str(), HasSubstr("\n1,true,\"tp=4 micro-batch=2\","));
  // A damaged table is bad input, whatever is wrong.
  ordered_json damaged = ordered_json::parse(text);
  for (const auto& [key, value] : std::vector<std::pair<std::string, ordered_json>>{
           {"possible", "yes"}, {"step_time_ns", "long"}, {"tp", 4}, {"place", -1}, {"fits", 1}}) {
    ordered_json other = damaged;
    other["configurations"][1][key] = value;
    EXPECT_FALSE(ParseSweepTable(other.dump(), "x")) << key;
  }
  damaged["version"] = 1;
  EXPECT_THAT(ParseSweepTable(damaged.dump(), "x").error().message, HasSubstr("sweep again"));
}

TEST(SweepTables, HaveAFigureForWhatTheyVary) {
  SweepTable table = Table();
  ASSERT_TRUE(RankRows(table));
  const auto parts = [](const SweepTable& of) {
    return ordered_json::parse(*SweepFiguresJson(of))["parts"];
  };
  ordered_json by_layout = parts(table);
  ASSERT_EQ(by_layout.size(), 1U);  // one setting, one micro-batch
  EXPECT_EQ(by_layout[0]["figure"], "parallelism");
  std::vector<std::string> labels;
  for (const auto& side : by_layout[0]["sides"]) {
    labels.push_back(side["label"]);
  }
  EXPECT_THAT(labels, ElementsAre("tp1 †", "tp2", "tp4", "tp8"));
  for (const auto& quantity : by_layout[0]["quantities"]) {
    EXPECT_EQ(quantity["cells"].size(), 4U);
    EXPECT_TRUE(quantity["cells"][0]["modelled"]);
    if (quantity["name"] == "time") {
      EXPECT_DOUBLE_EQ(quantity["cells"][2]["value"], 0.01);
    }
    EXPECT_NE(quantity["name"], "temperature");  // no row has one
  }
  // Two settings and two micro-batches.
  SweepTable larger = Table();
  for (const SweepRow& row : Table().rows) {
    SweepRow other = row;
    other.setting = "full";
    other.place += 5;
    larger.rows.push_back(other);
    other.setting = "";
    other.values[1] = "4";
    other.place += 5;
    larger.rows.push_back(other);
  }
  for (SweepRow& row : larger.rows) {
    row.setting = row.setting.empty() ? "none" : row.setting;
  }
  ASSERT_TRUE(RankRows(larger));
  const ordered_json all = parts(larger);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1]["figure"], "optimizations");
  EXPECT_EQ(all[1]["sides"].size(), 8U);
  EXPECT_EQ(all[2]["figure"], "microbatch");
  EXPECT_EQ(all[2]["axis"], "micro-batch");
  EXPECT_EQ(all[2]["sides"][1]["number"], 4);
  EXPECT_EQ(ordered_json::parse(*SweepFiguresJson(larger, {"microbatch"}))["parts"].size(), 1U);
  EXPECT_THAT(SweepFiguresJson(larger, {"heatmap"}).error().message, HasSubstr("a sweep has none"));
}

}  // namespace
}  // namespace reprise
