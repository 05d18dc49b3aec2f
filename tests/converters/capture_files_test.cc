// Which files of a directory are captures, and of which rank.
#include "converters/pytorch/rank/capture_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "converters/converter.h"
#include "converters/pytorch/rank/capture_names.h"
#include "converters/text_file.h"
#include "packed.h"
#include "synthetic_capture.h"

namespace reprise::pytorch {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* kHost = R"({"schema": "1.0.1", "pid": 1, "nodes": []})";

std::string Kineto(int rank = -1) {
  return R"({"schemaVersion": 1, "deviceProperties": [],)" +
         (rank < 0 ? std::string()
                   : R"( "distributedInfo": {"backend": "nccl", "rank": )" + std::to_string(rank) +
                         R"(, "world_size": 2},)") +
         R"( "traceEvents": []})";
}

class CaptureFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = FreshDirectory(std::string("files_") +
                                ::testing::UnitTest::GetInstance()->current_test_info()->name());
  }
  void Put(const std::string& name, const std::string& text) const {
    WriteText(directory_ + "/" + name, text);
  }
  // "host kineto" of each rank, by file name.
  [[nodiscard]] std::vector<std::string> Found() {
    Diagnostics diagnostics;
    const auto files = FindCaptures(directory_, diagnostics);
    unfinished_ = diagnostics.CountOf("unfinished_capture_file");
    if (!files) {
      return {"error: " + files.error().message};
    }
    std::vector<std::string> out;
    for (const RankFiles& rank : *files) {
      out.push_back(fs::path(rank.host).filename().string() + " " +
                    fs::path(rank.kineto).filename().string());
    }
    return out;
  }
  using Names = std::vector<std::string>;

  std::string directory_;
  std::uint64_t unfinished_ = 0;  // of Found()
};

TEST_F(CaptureFiles, OwnNamesInEveryPacking) {
  Put("rank0.et.json", kHost);
  Put("rank0.kineto.json.zst", Zstd(Kineto()));
  Put("rank1.et.json.zst", Zstd(kHost));
  Put("rank1.kineto.json.gz", Kineto());
  Put("notes.json", "{}");
  EXPECT_EQ(Found(), (Names{"rank0.et.json rank0.kineto.json.zst",
                            "rank1.et.json.zst rank1.kineto.json.gz"}));
}

TEST_F(CaptureFiles, UnfinishedOnesAreNamed) {
  Put("rank0.et.json.tmp-4711", "{half");
  EXPECT_TRUE(LooksLikeCapture(directory_));
  EXPECT_THAT(Found().front(),
              ::testing::HasSubstr("rank0.et.json.tmp-4711: was begun by a capture"));
  Put("rank0.et.json", kHost);
  Put("rank0.kineto.json", Kineto());
  EXPECT_EQ(Found(), Names{"rank0.et.json rank0.kineto.json"});
  EXPECT_EQ(unfinished_, 1U);
}

TEST_F(CaptureFiles, NamesOfParam) {
  for (const int rank : {0, 1}) {
    Put("dlrm_et_" + std::to_string(rank) + ".json", kHost);
    Put("dlrm_trace_" + std::to_string(rank) + ".json", Kineto());
  }
  EXPECT_EQ(Found(),
            (Names{"dlrm_et_0.json dlrm_trace_0.json", "dlrm_et_1.json dlrm_trace_1.json"}));
  EXPECT_TRUE(LooksLikeCapture(directory_));
}

TEST_F(CaptureFiles, NamesOfTorchAndHta) {
  Put("rank-0.json.zst", Zstd(kHost));
  Put("rank-1.json", kHost);
  Put("node7_4711.1694128201545.pt.trace.json", Kineto(1));
  Put("node7_4712.1694128201545.pt.trace.json.zst", Zstd(Kineto(0)));
  EXPECT_EQ(Found(), (Names{"rank-0.json.zst node7_4712.1694128201545.pt.trace.json.zst",
                            "rank-1.json node7_4711.1694128201545.pt.trace.json"}));
}

TEST_F(CaptureFiles, OnePairNeedsNoRank) {
  Put("et.json", kHost);
  Put("profile.json", Kineto());
  EXPECT_EQ(Found(), (Names{"et.json profile.json"}));
}

TEST_F(CaptureFiles, ForeignNamesFillWhatOwnNamesLack) {
  Put("rank0.et.json", kHost);
  Put("rank1.et.json", kHost);
  Put("a.pt.trace.json", Kineto(1));
  Put("b.pt.trace.json", Kineto(0));
  EXPECT_EQ(Found(), (Names{"rank0.et.json b.pt.trace.json", "rank1.et.json a.pt.trace.json"}));
}

TEST_F(CaptureFiles, OneKindAlone) {
  Put("rank0.kineto.json", Kineto());
  Put("rank1.kineto.json", Kineto());
  EXPECT_EQ(Found(), (Names{" rank0.kineto.json", " rank1.kineto.json"}));
  fs::remove_all(directory_);
  fs::create_directories(directory_);
  Put("rank0.et.json", kHost);
  EXPECT_EQ(Found(), (Names{"rank0.et.json "}));
}

TEST_F(CaptureFiles, MissingOnSomeRanksIsAnError) {
  Put("rank0.et.json", kHost);
  Put("rank0.kineto.json", Kineto());
  Put("rank1.kineto.json", Kineto());
  EXPECT_THAT(Found().front(), HasSubstr("rank 1 has no rank<N>.et.json"));
}

TEST_F(CaptureFiles, AmbiguousFilesAreListedWithTheFlags) {
  Put("a.json", Kineto());
  Put("b.json", Kineto());
  const std::string error = Found().front();
  for (const char* part : {"a.json", "b.json", "--host-trace", "--device-trace", "--rank"}) {
    EXPECT_THAT(error, HasSubstr(part));
  }
}

TEST_F(CaptureFiles, TwoFilesOfOneRank) {
  Put("a.json", Kineto(0));
  Put("b.json", Kineto(0));
  EXPECT_THAT(Found().front(), HasSubstr("two files for one rank"));
}

TEST_F(CaptureFiles, NameAndContentDisagree) {
  Put("run_rank_3.json", Kineto(0));
  EXPECT_THAT(Found().front(), HasSubstr("of rank 3 by its name, of rank 0 by its content"));
}

TEST_F(CaptureFiles, NothingOfTheKind) {
  Put("package.json", R"({"name": "x"})");
  Put("rank0.meta.json", "{}");
  EXPECT_THAT(Found().front(), HasSubstr("no captures here"));
  EXPECT_FALSE(LooksLikeCapture(directory_));
}

TEST_F(CaptureFiles, DamagedZstd) {
  std::string text(100'000, 'x');
  for (std::size_t i = 0; i < text.size(); ++i) {
    text[i] = static_cast<char>('a' + i * i % 23);
  }
  const std::string packed = Zstd(text);
  Put("whole.zst", packed + Zstd("more"));  // frames in a row are one text
  const auto whole = TextFile::Read(directory_ + "/whole.zst");
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->text(), text + "more");
  Put("half.zst", packed.substr(0, packed.size() / 2));
  const auto half = TextFile::Read(directory_ + "/half.zst");
  ASSERT_FALSE(half);
  EXPECT_THAT(half.error().message, HasSubstr("truncated: the zstd data end early at byte " +
                                              std::to_string(packed.size() / 2)));
  Put("tail.zst", packed + "tail");
  const auto tail = TextFile::Read(directory_ + "/tail.zst");
  ASSERT_FALSE(tail);
  EXPECT_THAT(tail.error().message, HasSubstr("damaged zstd data at byte"));
}

TEST(CaptureNames, Ranks) {
  EXPECT_EQ(RankInName("rank-12.json.gz"), 12);
  EXPECT_EQ(RankInName("llama_rank_3.pt.trace.json"), 3);
  EXPECT_EQ(RankInName("dlrm_et_7.json"), 7);
  EXPECT_EQ(RankInName("my_trace_5.json.zst"), 5);
  EXPECT_EQ(RankInName("crank7.json"), -1);
  EXPECT_EQ(RankInName("planet_7.json"), -1);
  EXPECT_EQ(RankInName("worker0_step_12.json"), -1);
  EXPECT_EQ(RankInName("trace_5_of_8.json"), -1);
  EXPECT_EQ(RankInName("rank99999999999999.json"), -1);
}

}  // namespace
}  // namespace reprise::pytorch
