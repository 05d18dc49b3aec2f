// Samples as time,value.
#include "report/timeline/samples_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

namespace reprise {
namespace {

TEST(SamplesCsv, OneFileAMetricWithTimesFromTheFirstSample) {
  RunData run;
  RankData& rank = run.ranks.emplace_back();
  rank.host = "node/1";
  rank.facts.wall_readings = {{0, -1'700'000'000'000'000'000, 5}};
  rank.metrics = {
      {.id = 0,
       .name = "power",
       .unit = "watts",
       .device = "gpu-0000:01:00.0",
       .source = "nvml",
       .help = "now, \"instant\""},
      {.id = 1, .name = "power", .unit = "watts", .device = "gpu-0000-01-00.0", .source = "other"},
      {.id = 2, .name = "silent", .unit = "watts", .device = "d", .source = "s"}};
  rank.samples = {{0, 2'000'000'000, 250.25},
                  {1, 1'500'000'000, 7},
                  {0, 1'750'000'000, 240},
                  {2, 1'000'000'000, std::nan("")}};
  const ExportedSamples table = TabulateSamples(run);
  ASSERT_EQ(table.series.size(), 2U);
  EXPECT_EQ(table.series[0].file, "node-1.gpu-0000-01-00-0.power.watts.csv");
  EXPECT_EQ(table.series[1].file, "node-1.gpu-0000-01-00-0.power.watts.2.csv");
  std::ostringstream series;
  WriteSeriesCsv(table, table.series[0], series);
  EXPECT_EQ(series.str(), "time,value\n0.250000,240\n0.500000,250.25\n");
  std::ostringstream index;
  WriteIndexCsv(table, index);
  EXPECT_THAT(index.str(), ::testing::HasSubstr("1700000001.500000,\"now, \"\"instant\"\"\"\n"));
}

TEST(SamplesCsv, ARunWithoutTelemetryHasNoFiles) {
  RunData run;
  run.ranks.emplace_back();
  EXPECT_TRUE(TabulateSamples(run).series.empty());
}

}  // namespace
}  // namespace reprise
