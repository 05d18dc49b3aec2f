#include "report/stored_analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "report/analysis.h"
#include "report/run/run.h"
#include "report/run/schema.h"
#include "report/sections/sections.h"
#include "tests/report/synthetic_run.h"
#include "tests/run/run_directory.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

class StoredAnalysisTest : public RunDirectory {
 protected:
  void SetUp() override {
    RunDirectory::SetUp();
    RunData run = MakeRun();
    run.manifest.complete = false;
    for (RankData& rank : run.ranks) {
      auto writer = RankWriter::Create(Directory(), rank.rank);
      ASSERT_TRUE(writer);
      (*writer)->Append(rank.nodes);
      (*writer)->Append(rank.collectives);
      (*writer)->Append(rank.records);
      (*writer)->Append(rank.steps);
      (*writer)->Append<Metric>({{.id = 7, .name = "power", .unit = "watts", .device = "d"}});
      (*writer)->Append<Sample>(
          {{7, kIterationNs, 10}, {7, 3 * kIterationNs, 20}, {7, 5 * kIterationNs, 20}});
      (*writer)->SetFacts(rank.facts);
      ASSERT_TRUE((*writer)->Close());
    }
    ASSERT_TRUE(WriteManifest(Directory(), run.manifest));
    ASSERT_TRUE(MergeRun(Directory()));
  }

  [[nodiscard]] Result<Analysis> Analyzed(AnalysisOptions options = {.page = true}) const {
    options.stored_from_bytes = 1;
    return AnalyzeRun(Directory(), options);
  }
  [[nodiscard]] static std::string TextOf(const Analysis& analysis) {
    return JsonText(analysis.report) +
           (analysis.page ? HtmlDataJson(analysis.report, *analysis.page) : "");
  }
  // Other bytes under the same size and time.
  void SpoilRank0() const {
    const fs::path path = File("rank0.sqlite");
    const auto time = fs::last_write_time(path);
    const auto size = fs::file_size(path);
    std::ofstream(path, std::ios::binary) << std::string(size, 'x');
    fs::last_write_time(path, time);
  }
  const std::string& Stored() { return stored_ = File(kStoredAnalysisFile); }

  std::string stored_;
};

TEST_F(StoredAnalysisTest, TheNextReportIsTheSameAndReadsNoNodes) {
  const auto first = Analyzed();
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_TRUE(fs::exists(Stored()));
  SpoilRank0();
  const auto next = Analyzed();
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ(TextOf(*next), TextOf(*first));
  // What is no part of it: what the user knows.
  const auto same = Analyzed({.page = true, .same_machine = true});
  ASSERT_TRUE(same);
  EXPECT_EQ(same->report.verdict.kind, Verdict::Kind::kError);
  EXPECT_NE(next->report.verdict.kind, Verdict::Kind::kError);
}

TEST_F(StoredAnalysisTest, AnotherFileIsReadAnew) {
  ASSERT_TRUE(Analyzed());
  SpoilRank0();
  fs::last_write_time(File("rank0.sqlite"), fs::file_time_type::clock::now());
  const auto next = Analyzed();
  ASSERT_FALSE(next);
  EXPECT_THAT(next.error().message, testing::HasSubstr("rank0.sqlite"));
}

TEST_F(StoredAnalysisTest, APageThatWasNotAskedForIsAdded) {
  const auto text = Analyzed(AnalysisOptions{});
  ASSERT_TRUE(text);
  EXPECT_FALSE(text->page);
  const auto page = Analyzed();
  ASSERT_TRUE(page && page->page);
  EXPECT_EQ(JsonText(page->report), JsonText(text->report));
  SpoilRank0();
  const auto next = Analyzed();
  ASSERT_TRUE(next && next->page);
  EXPECT_EQ(TextOf(*next), TextOf(*page));
}

TEST_F(StoredAnalysisTest, WhatIsDamagedIsMadeAnew) {
  const auto first = Analyzed();
  ASSERT_TRUE(first);
  const auto size = fs::file_size(Stored());
  for (std::uintmax_t cut = 0; cut < size; cut += 97) {
    fs::resize_file(Stored(), cut);
    const auto next = Analyzed();
    ASSERT_TRUE(next) << cut;
    EXPECT_EQ(TextOf(*next), TextOf(*first)) << cut;
    EXPECT_EQ(fs::file_size(Stored()), size) << cut;
  }
}

TEST_F(StoredAnalysisTest, SmallRunsAndRunsThatMayChangeHaveNone) {
  ASSERT_TRUE(AnalyzeRun(Directory(), {.page = true}));
  EXPECT_FALSE(fs::exists(Stored()));
  RunManifest manifest = *ReadManifest(Directory());
  manifest.provenance = Name(Provenance::kNone);
  ASSERT_TRUE(WriteManifest(Directory(), manifest));
  ASSERT_TRUE(MergeRun(Directory()));
  ASSERT_TRUE(Analyzed());
  EXPECT_FALSE(fs::exists(Stored()));
  manifest.provenance = Name(Provenance::kFull);
  ASSERT_TRUE(WriteManifest(Directory(), manifest));
  fs::remove(File("checksums.xxh128"));
  ASSERT_TRUE(Analyzed());
  EXPECT_FALSE(fs::exists(Stored()));
}

// Read rank by rank, an analysis has less: more memory finds the rest.
TEST_F(StoredAnalysisTest, AnotherWayToReadIsAnotherAnalysis) {
  const auto bytes = static_cast<std::int64_t>(fs::file_size(File("rank0.sqlite")) +
                                               fs::file_size(File("rank1.sqlite")));
  ASSERT_TRUE(Analyzed());
  const auto parts = Analyzed({.page = true, .memory_bytes = 2 * bytes});
  ASSERT_TRUE(parts) << parts.error().message;
  ASSERT_TRUE(Analyzed());
  SpoilRank0();
  EXPECT_TRUE(Analyzed());
  EXPECT_FALSE(Analyzed({.page = true, .memory_bytes = 2 * bytes}));
}

}  // namespace
}  // namespace reprise
