// report/run/provenance.h: what a run of an anonymized set leaves out, and that users can read it.
#include "report/run/provenance.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "report/run/run.h"
#include "report/run/run_texts.h"
#include "tests/run/run_directory.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ProvenanceTest = RunDirectory;

TEST(FileNamesOnly, KeepsTheLastNameOfPaths) {
  EXPECT_EQ(FileNamesOnly("rank 2: /home/ann/runs/rank2.sqlite: disk full"),
            "rank 2: rank2.sqlite: disk full");
  EXPECT_EQ(FileNamesOnly("cannot open './lib.so', ~/a/b or x/y/z"),
            "cannot open 'lib.so', b or z");
  for (const std::string text :
       {"", "of 3 GB/s and 0/7", "no progress on any rank for 60 s", "/"}) {
    EXPECT_EQ(FileNamesOnly(text), text == "/" ? "" : text);
  }
}

TEST(WithoutProvenance, LeavesOutHardwareAddresses) {
  const auto without = [](std::string_view text) {
    return WithoutProvenance(ProvenanceRule::kNoAddress, text, "");
  };
  EXPECT_EQ(without("sent by enx0a1b2c3d4e5f"), "sent by enx");
  for (const std::string text : {"eth0", "enx0", "gpu-0000:1b:00.0", "enp3s0f1"}) {
    EXPECT_EQ(without(text), text);
  }
}

RunManifest FullManifest(Provenance provenance) {
  return {.command = "reprise replay /home/ann/set",
          .trace_path = "/home/ann/set",
          .trace_name = "trace",
          .started_at = "2026-05-01T12:00:00Z",
          .world_size = 3,
          .versions = {{"kernel", "Linux 6.1.0-acme+7"}, {"transport", "mpi"}},
          .hosts = {"ann-b", "ann-a", "ann-b"},
          .provenance = std::string(Name(provenance))};
}

RunData Written(const std::string& directory, Provenance provenance) {
  EXPECT_TRUE(WriteManifest(directory, FullManifest(provenance)));
  for (const int rank : {0, 1, 2}) {
    auto writer = RankWriter::Create(directory, rank, {provenance, rank % 2});
    EXPECT_TRUE(writer);
    (*writer)->Append(std::vector<RunDevice>{{.device = "opencl:0", .uuid = "1-2"}});
    (*writer)->Append(std::vector<Metric>{
        {.name = "network_tx", .device = "enx0a1b2c3d4e5f", .help = "sent by enx0a1b2c3d4e5f"}});
    (*writer)->Append(std::vector<MeteredDevice>{{.device = "gpu-0", .uuid = "1-2"}});
    (*writer)->SetFacts({.host = "ann-a",
                         .device_reason = "/opt/ann/driver.so: too old",
                         .wall_readings = {{1, 2, 3}},
                         .ended_by = "rank 1: /home/ann/rank1.sqlite: disk full",
                         .ended_at_ns = 17,
                         .missing_telemetry = {{"rapl", "/sys/class/powercap: no zones"}}});
    EXPECT_TRUE((*writer)->Close());
  }
  EXPECT_TRUE(MergeRun(directory));
  auto run = ReadRun(directory);
  EXPECT_TRUE(run) << run.error().message;
  return *run;
}

TEST_F(ProvenanceTest, IsLeftOutOfAllFiles) {
  const RunData run = Written(Directory(), Provenance::kNone);
  EXPECT_EQ(run.manifest.command + run.manifest.trace_path + run.manifest.started_at, "");
  EXPECT_EQ(run.manifest.trace_name, "trace");
  EXPECT_EQ(run.manifest.hosts, (std::vector<std::string>{"host0", "host1", "host0"}));
  EXPECT_EQ(run.manifest.versions.at("kernel"), "Linux 6.1.0");
  EXPECT_EQ(run.manifest.versions.at("transport"), "mpi");
  for (const RankData& rank : run.ranks) {
    EXPECT_EQ(rank.host, NumberedHostName(rank.rank % 2));
    EXPECT_EQ(rank.facts.host, rank.host);
    EXPECT_EQ(rank.devices.front().uuid + rank.meters.front().uuid, "");
    EXPECT_EQ(rank.devices.front().device, "opencl:0");
    EXPECT_EQ(rank.facts.device_reason, "driver.so: too old");
    EXPECT_EQ(rank.facts.ended_by, "rank 1: rank1.sqlite: disk full");
    EXPECT_THAT(rank.facts.wall_readings, IsEmpty());
    EXPECT_FALSE(rank.facts.ended_at_ns);
  }
  const auto texts = ReadTexts(Directory());
  ASSERT_TRUE(texts) << texts.error().message;
  EXPECT_EQ(texts->files, 5U);
  for (const RunText& of : texts->texts) {
    EXPECT_EQ(of.text.find("ann"), std::string::npos) << of.table << " " << of.field << of.text;
  }
}

TEST_F(ProvenanceTest, IsKeptInFull) {
  const RunData run = Written(Directory(), Provenance::kFull);
  EXPECT_EQ(run.manifest.command, "reprise replay /home/ann/set");
  EXPECT_EQ(run.manifest.hosts.front(), "ann-b");
  EXPECT_EQ(run.ranks.front().devices.front().uuid, "1-2");
  EXPECT_EQ(run.ranks.front().facts.wall_readings.size(), 1U);
  const auto texts = ReadTexts(Directory());
  ASSERT_TRUE(texts);
  for (const ProvenanceField& field : kProvenanceFields) {
    EXPECT_TRUE(std::ranges::any_of(texts->texts,
                                    [&field](const RunText& of) {
                                      return of.table == field.table &&
                                             of.field.starts_with(field.field) && !of.text.empty();
                                    }) ||
                field.field == "versions.device_version")
        << field.table << " " << field.field;
  }
}

TEST(Provenance, IsExplained) {
  std::ifstream file(REPRISE_SOURCE_DIR "/docs/run_format.md");
  std::ostringstream page;
  page << file.rdbuf();
  for (const ProvenanceField& field : kProvenanceFields) {
    EXPECT_THAT(page.str(),
                HasSubstr(fmt::format("| `{}` | `{}{}` | {} | {} |", field.table, field.field,
                                      field.field.ends_with('.') ? "<name>" : "", Name(field.rule),
                                      field.reason)));
  }
}

}  // namespace
}  // namespace reprise
