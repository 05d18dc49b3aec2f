#include "report/stored_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/checksums.h"
#include "core/parallel.h"
#include "report/analysis.h"
#include "report/run/run.h"
#include "report/run/schema.h"
#include "report/sections/sections.h"
#include "tests/report/synthetic_run.h"
#include "tests/run/run_directory.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::int32_t, 4> kRanks = {0, 1, 2, 3};

// Four ranks on two hosts; the clock of the second is ahead and drifts. Of the first host's ranks,
// rank 0 samples.
class StoredSumsTest : public RunDirectory {
 protected:
  void SetUp() override {
    RunDirectory::SetUp();
    manifest_ = MakeRun().manifest;
    manifest_.complete = false;
    manifest_.world_size = static_cast<std::int32_t>(kRanks.size());
    manifest_.hosts = {"a", "a", "b", "b"};
    manifest_.devices.assign(kRanks.size(), "opencl: cpu");
    for (const std::int32_t rank : kRanks) {
      WriteRank(rank);
    }
    Complete();
  }

  void WriteRank(std::int32_t rank) const {
    RankData data = MakeRank(rank);
    for (NodeInfo& node : data.nodes) {
      node.recorded_elapsed_ns = node.recorded_duration_ns;
      node.recorded_delay_ns = 0;
    }
    for (CollectiveInfo& transfer : data.collectives) {
      transfer.group_size = 4;
    }
    const std::string host = manifest_.hosts[static_cast<std::size_t>(rank)];
    data.facts.clock_readings = {{.at_ns = 0, .offset_ns = 0, .uncertainty_ns = 5},
                                 {.at_ns = 10 * kIterationNs, .offset_ns = 0, .uncertainty_ns = 5}};
    if (host == "b") {
      data.facts.clock_readings[0].offset_ns = -30'000'000;
      data.facts.clock_readings[1].offset_ns = -30'100'000;
    }
    // What names the host; this machine has one name.
    auto writer = RankWriter::Create(
        Directory(), rank, {.provenance = Provenance::kNone, .host = host == "a" ? 0 : 1});
    ASSERT_TRUE(writer);
    (*writer)->Append(data.nodes);
    (*writer)->Append<EdgeInfo>({{1, 2, "thread", false}, {2, 3, "thread", false}});
    (*writer)->Append(data.collectives);
    (*writer)->Append(data.records);
    (*writer)->Append(data.steps);
    if (rank == 0) {
      (*writer)->Append<Metric>({{.id = 7, .name = "power", .unit = "watts", .device = "d"}});
      (*writer)->Append<Sample>(
          {{7, kIterationNs, 10}, {7, 3 * kIterationNs, 20}, {7, 5 * kIterationNs, 20}});
    }
    (*writer)->SetFacts(data.facts);
    ASSERT_TRUE((*writer)->Close());
  }
  void Complete() const {
    ASSERT_TRUE(WriteManifest(Directory(), manifest_));
    ASSERT_TRUE(MergeRun(Directory()));
  }
  [[nodiscard]] Status Store() const { return StoreSums(Directory(), kRanks, 0); }
  [[nodiscard]] std::string Sums(std::int32_t rank) const { return SumsPath(Directory(), rank); }

  // Read rank by rank: two files fit, four do not.
  [[nodiscard]] std::string Reported() const {
    const auto bytes = static_cast<std::int64_t>(fs::file_size(File("rank0.sqlite")));
    const auto analysis = AnalyzeRun(Directory(), {.page = true, .memory_bytes = 14 * bytes});
    EXPECT_TRUE(analysis) << analysis.error().message;
    if (!analysis) {
      return "";
    }
    EXPECT_THAT(analysis->report.details.why_not, testing::HasSubstr("rank by rank"));
    return JsonText(analysis->report) + FullText(analysis->report, false) +
           HtmlDataJson(analysis->report, *analysis->page);
  }
  // With what was said on stderr.
  [[nodiscard]] std::pair<std::string, std::string> ReportedAndSaid() const {
    testing::internal::CaptureStderr();
    std::string reported = Reported();
    return {std::move(reported), testing::internal::GetCapturedStderr()};
  }

  static std::string BytesOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void Write(const std::string& bytes, const std::string& path) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  RunManifest manifest_;
};

TEST_F(StoredSumsTest, TheReportIsTheSame) {
  const std::string of_nodes = Reported();
  ASSERT_TRUE(Store());
  const auto [reported, said] = ReportedAndSaid();
  EXPECT_EQ(reported, of_nodes);
  EXPECT_THAT(said, testing::Not(testing::HasSubstr("sums")));
  const int cores = OwnCores();
  LimitOwnCores(1);
  EXPECT_EQ(Reported(), of_nodes);
  LimitOwnCores(cores);
}

// Sums of other names, with a checksum that holds, so that the report shows whose they are.
TEST_F(StoredSumsTest, TheReportTakesThem) {
  ASSERT_TRUE(Store());
  for (const std::int32_t rank : kRanks) {
    std::string bytes = *ReadWithOwnChecksum(Sums(rank));
    for (std::size_t at = 0; (at = bytes.find("op1", at)) != std::string::npos;) {
      bytes.replace(at, 3, "abc");
    }
    Write(bytes, Sums(rank));
    ASSERT_TRUE(AppendOwnChecksum(Sums(rank)));
  }
  EXPECT_THAT(Reported(), testing::HasSubstr("abc"));
}

TEST_F(StoredSumsTest, DamagedOnesAreFoundAnewAndSaidToBe) {
  const std::string of_nodes = Reported();
  ASSERT_TRUE(Store());
  const std::string bytes = BytesOf(Sums(1));
  for (std::size_t at = 0; at < bytes.size(); at += bytes.size() / 20) {
    Write(bytes.substr(0, at), Sums(1));
    const auto [cut, said_of_cut] = ReportedAndSaid();
    EXPECT_EQ(cut, of_nodes) << at;
    EXPECT_THAT(said_of_cut, testing::HasSubstr("rank1.sums: damaged")) << at;
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    Write(flipped, Sums(1));
    EXPECT_EQ(Reported(), of_nodes) << at;
  }
}

// What ends where its checksum says, but is no such value.
TEST_F(StoredSumsTest, ShortOnesWithAChecksumAreDamagedToo) {
  const std::string of_nodes = Reported();
  ASSERT_TRUE(Store());
  const std::string bytes = *ReadWithOwnChecksum(Sums(1));
  for (std::size_t size = 0; size < bytes.size(); size += bytes.size() / 20) {
    Write(bytes.substr(0, size), Sums(1));
    ASSERT_TRUE(AppendOwnChecksum(Sums(1)));
    EXPECT_EQ(Reported(), of_nodes) << size;
  }
}

// Made by someone else, with a checksum that holds: whatever they say, there is a report.
TEST_F(StoredSumsTest, MadeUpOnesDoNoHarm) {
  ASSERT_TRUE(Store());
  const std::string bytes = *ReadWithOwnChecksum(Sums(1));
  const auto memory_bytes = static_cast<std::int64_t>(14 * fs::file_size(File("rank0.sqlite")));
  for (std::size_t at = 0; at < bytes.size(); at += 23) {
    std::string made_up = bytes;
    made_up[at] = static_cast<char>(at % 2 == 0 ? 0x00 : 0xff);
    Write(made_up, Sums(1));
    ASSERT_TRUE(AppendOwnChecksum(Sums(1)));
    const auto analysis = AnalyzeRun(Directory(), {.page = true, .memory_bytes = memory_bytes});
    ASSERT_TRUE(analysis) << at;
    EXPECT_FALSE(JsonText(analysis->report).empty());
    EXPECT_FALSE(FullText(analysis->report, false).empty());
  }
}

TEST_F(StoredSumsTest, ThoseOfAnotherFileAreNotTaken) {
  ASSERT_TRUE(Store());
  fs::copy_file(Sums(2), Sums(1), fs::copy_options::overwrite_existing);
  const auto [reported, said] = ReportedAndSaid();
  EXPECT_THAT(said, testing::HasSubstr("rank1.sums: of another run"));
  fs::remove(Sums(1));
  EXPECT_EQ(Reported(), reported);
  // A run anew: its ranks have no sums of before.
  WriteRank(0);
  EXPECT_FALSE(fs::exists(Sums(0)));
  EXPECT_TRUE(fs::exists(Sums(2)));
}

TEST_F(StoredSumsTest, ThoseOfAnotherPassAreNotTaken) {
  ASSERT_TRUE(Store());
  const auto reader = RunReader::Open(Directory());
  ASSERT_TRUE(reader);
  bool taken = false;
  for (const std::int32_t iteration : {1, 2, 3}) {
    const auto sums = ReadSums(*reader, 0, {.iteration = iteration});
    taken = taken || sums;
    EXPECT_TRUE(!sums || *sums) << iteration;
  }
  EXPECT_TRUE(taken);
  EXPECT_FALSE(ReadSums(*reader, 0, {.iteration = 0}));
}

// Its sums are of records that the run no longer has.
TEST_F(StoredSumsTest, ThoseOfARankWithoutAFileAreNotTaken) {
  ASSERT_TRUE(Store());
  fs::remove(RankPath(Directory(), 1));
  const std::string reported = Reported();
  fs::remove(Sums(1));
  EXPECT_EQ(Reported(), reported);
  fs::remove(File("manifest.json"));
  const std::string without_manifest = Reported();
  for (const std::int32_t rank : kRanks) {
    fs::remove(Sums(rank));
  }
  EXPECT_EQ(Reported(), without_manifest);
}

TEST_F(StoredSumsTest, WhichRunsHaveNone) {
  ASSERT_TRUE(StoreSums(Directory(), kRanks, std::int64_t{1} << 30));
  EXPECT_FALSE(fs::exists(Sums(0)));
  manifest_.provenance = Name(Provenance::kNone);
  Complete();
  ASSERT_TRUE(Store());
  EXPECT_FALSE(fs::exists(Sums(0)));
  manifest_.provenance = Name(Provenance::kFull);
  ASSERT_TRUE(WriteManifest(Directory(), manifest_));  // not complete
  ASSERT_TRUE(Store());
  EXPECT_FALSE(fs::exists(Sums(0)));
  Complete();
  ASSERT_TRUE(StoreSums(Directory(), std::array{1}, 0));
  EXPECT_FALSE(fs::exists(Sums(0)));
  EXPECT_TRUE(fs::exists(Sums(1)));
}

}  // namespace
}  // namespace reprise
