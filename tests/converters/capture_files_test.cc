// Which files of a directory are captures, and of which rank.
#include "converters/pytorch/files/capture_files.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "converters/converter.h"
#include "converters/pytorch/files/capture_names.h"
#include "converters/text_file.h"
#include "packed.h"
#include "synthetic_capture.h"

namespace reprise::pytorch {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* kHost = R"({"schema": "1.0.1", "pid": 1, "nodes": []})";

std::string Host(int process) {
  return R"({"schema": "1.0.1", "pid": )" + std::to_string(process) + R"(, "nodes": []})";
}

std::string Kineto(int rank = -1) {
  return R"({"schemaVersion": 1, "deviceProperties": [],)" +
         (rank < 0 ? std::string()
                   : R"( "distributedInfo": {"backend": "nccl", "rank": )" + std::to_string(rank) +
                         R"(, "world_size": 2},)") +
         R"( "traceEvents": []})";
}

// Of a process, from a second on.
std::string KinetoOf(int process, int second, int rank = -1) {
  std::string text = Kineto(rank);
  text.resize(text.size() - 2);
  return text + R"({"ph": "M", "name": "process_name", "pid": )" + std::to_string(process) +
         R"(, "ts": )" + std::to_string(second) +
         R"(000000.5}], "baseTimeNanoseconds": 1000000000000000000})";
}

class CaptureFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = FreshDirectory(std::string("files_") +
                                ::testing::UnitTest::GetInstance()->current_test_info()->name());
  }
  void Put(const std::string& name, const std::string& text) const {
    fs::create_directories((fs::path(directory_) / name).parent_path());
    WriteText(directory_ + "/" + name, text);
  }
  // "host kineto" of each rank, by file name.
  [[nodiscard]] std::vector<std::string> Found() {
    Diagnostics diagnostics;
    const auto files = FindCaptures(directory_, choice_, diagnostics);
    unfinished_ = diagnostics.CountOf("unfinished_capture_file");
    if (!files) {
      return {"error: " + files.error().message};
    }
    std::vector<std::string> out;
    for (const RankFiles& rank : *files) {
      out.push_back(Name(rank.host) + " " + Name(rank.kineto));
    }
    return out;
  }
  [[nodiscard]] std::string Name(const std::string& path) const {
    return path.empty() ? path : fs::path(path).lexically_relative(directory_).string();
  }
  using Names = std::vector<std::string>;

  std::string directory_;
  CaptureChoice choice_;
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
  EXPECT_THAT(Found().front(), HasSubstr("holds 2 captures; choose one with --capture NAME:\n"
                                         "  a.json  1 rank, Kineto alone, 131 B\n"
                                         "  b.json  1 rank"));
  Put("rank0.kineto.json", Kineto());
  Put("rank0.kineto.json.gz", Kineto());
  EXPECT_THAT(Found().front(), HasSubstr("two files for one rank (0)"));
}

TEST_F(CaptureFiles, NamesOfMegatron) {
  for (const std::string rank : {"0", "1"}) {
    Put("chakra/rank-" + rank + ".json.gz", kHost);
    Put("pytorch_profile/rank-" + rank + ".json.gz", Kineto());
  }
  Put("events.out.tfevents", "");
  EXPECT_EQ(Found(), (Names{"chakra/rank-0.json.gz pytorch_profile/rank-0.json.gz",
                            "chakra/rank-1.json.gz pytorch_profile/rank-1.json.gz"}));
}

TEST_F(CaptureFiles, NamesOfChakra) {
  for (const char between : {'.', '_'}) {
    fs::remove_all(directory_);
    const auto name = [&](const char* kind, int rank) {
      return kind + std::string(1, between) + std::to_string(rank) + ".json";
    };
    for (const int rank : {0, 1}) {
      Put(name("host", rank), Host(7 + rank));
      Put(name("device", rank), KinetoOf(7 + rank, 1));
    }
    EXPECT_EQ(Found(), (Names{name("host", 0) + " " + name("device", 0),
                              name("host", 1) + " " + name("device", 1)}));
  }
}

TEST_F(CaptureFiles, IterationsOfTorchtitan) {
  for (const std::string iteration : {"5", "10"}) {
    for (const int rank : {0, 1}) {
      Put("iteration_" + iteration + "/rank" + std::to_string(rank) + "_trace.json",
          KinetoOf(70 + rank, std::stoi(iteration), rank));
    }
  }
  EXPECT_THAT(Found().front(),
              HasSubstr("holds 2 captures; choose one with --capture NAME:\n"
                        "  iteration_5   2 ranks, Kineto alone, 476 B, 2001-09-09 01:46:45 UTC\n"
                        "  iteration_10  2 ranks"));
  choice_.name = "iteration_10";
  EXPECT_EQ(Found(), (Names{" iteration_10/rank0_trace.json", " iteration_10/rank1_trace.json"}));
  choice_.name = "iteration_11";
  EXPECT_THAT(Found().front(),
              HasSubstr("holds no capture 'iteration_11'; did you mean iteration_10?"));
}

TEST_F(CaptureFiles, FoldersOfRanks) {
  for (const std::string rank : {"0", "1", "2"}) {
    Put("rank_" + rank + "/pt.trace.json", Kineto());
    Put("rank_" + rank + "/et.json", kHost);
  }
  EXPECT_EQ(Found().at(2), "rank_2/et.json rank_2/pt.trace.json");
  fs::remove_all(directory_);
  Put("attempt_0/0/trace.json", KinetoOf(5, 1));
  Put("attempt_0/1/trace.json", KinetoOf(6, 1));
  EXPECT_EQ(Found(), (Names{" attempt_0/0/trace.json", " attempt_0/1/trace.json"}));
}

TEST_F(CaptureFiles, RanksOfNodesAreNotThose) {
  for (const int rank : {0, 1, 2, 3}) {
    Put("node_rank" + std::to_string(rank / 2) + "/rank" + std::to_string(rank) + ".pt.trace.json",
        Kineto());
  }
  EXPECT_EQ(Found(), (Names{" node_rank0/rank0.pt.trace.json", " node_rank0/rank1.pt.trace.json",
                            " node_rank1/rank2.pt.trace.json", " node_rank1/rank3.pt.trace.json"}));
}

TEST_F(CaptureFiles, FoldersWithoutNumbersAreCaptures) {
  Put("base/base.json", Kineto());
  Put("test/test.json", Kineto());
  EXPECT_THAT(Found().front(), HasSubstr("holds 2 captures"));
  choice_.name = "test";
  EXPECT_EQ(Found(), Names{" test/test.json"});
}

TEST_F(CaptureFiles, ProcessTellsTheRank) {
  Put("a.host.json", Host(501));
  Put("b.host.json", Host(500));
  Put("x.pt.trace.json", KinetoOf(500, 1, 0));
  Put("y.pt.trace.json", KinetoOf(501, 1, 1));
  EXPECT_EQ(Found(), (Names{"b.host.json x.pt.trace.json", "a.host.json y.pt.trace.json"}));
}

TEST_F(CaptureFiles, SeveralTimesOfTheSameRanks) {
  for (const int second : {100, 300}) {
    for (const int rank : {0, 1}) {
      // TensorBoard's handler: host, process and milliseconds.
      Put("node_" + std::to_string(40 + rank) + "." + std::to_string(1000 * second + 7 * rank) +
              ".pt.trace.json",
          KinetoOf(40 + rank, second, rank));
    }
  }
  EXPECT_THAT(Found().front(), HasSubstr("holds 2 captures"));
  choice_.name = "2";
  EXPECT_EQ(Found(), (Names{" node_40.300000.pt.trace.json", " node_41.300007.pt.trace.json"}));
  // One process at two steps, without a word of ranks.
  fs::remove_all(directory_);
  choice_.name = "trace_step20.json";
  Put("trace_step10.json", KinetoOf(5, 10));
  Put("trace_step20.json", KinetoOf(5, 20));
  EXPECT_EQ(Found(), Names{" trace_step20.json"});
  // Two runs of a worker of TensorBoard's plug-in.
  fs::remove_all(directory_);
  choice_.name = {};
  Put("worker0.1623143089861.pt.trace.json", KinetoOf(5, 10));
  Put("worker0.1623143566756.pt.trace.json", KinetoOf(6, 20));
  EXPECT_THAT(Found().front(), HasSubstr("holds 2 captures"));
}

TEST_F(CaptureFiles, TwoReadingsAreNotChosenFrom) {
  for (const std::string a : {"0", "1"}) {
    for (const std::string b : {"0", "1"}) {
      const std::string name = fmt::format("n{}_g{}.json", a, b);
      Put(name, KinetoOf(1 + std::stoi(a + b), 1));
    }
  }
  EXPECT_THAT(Found().front(), HasSubstr("n0_g1.json: may be of rank 0 or of rank 1"));
  choice_.rank_pattern = "n.*_g([0-9]+)";
  EXPECT_THAT(Found().front(), HasSubstr("n0_g*.json  2 ranks"));
  choice_.name = "n1_g*.json";
  EXPECT_EQ(Found(), (Names{" n1_g0.json", " n1_g1.json"}));
  // Numbers of one process count nothing but its captures.
  fs::remove_all(directory_);
  choice_ = {};
  Put("a0.json", KinetoOf(5, 1));
  Put("a1.json", KinetoOf(5, 2));
  EXPECT_THAT(Found().front(), HasSubstr("--rank-pattern"));
}

TEST_F(CaptureFiles, PatternsThatDoNotFit) {
  Put("w0.json", Kineto());
  Put("w1.json", Kineto());
  for (const auto& [pattern, message] :
       {std::pair("w(", "--rank-pattern w(: "), std::pair("w[0-9]", "has 0 groups"),
        std::pair("x([0-9]+)", "finds nothing in its name"),
        std::pair("(w)", "finds no number in its name")}) {
    choice_.rank_pattern = pattern;
    EXPECT_THAT(Found().front(), HasSubstr(message));
  }
}

TEST_F(CaptureFiles, OwnFilesOfADirectoryAreItsCapture) {
  Put("rank-0.json", kHost);
  Put("x.pt.trace.json", Kineto(0));
  Put("old/rank-0.json", kHost);
  EXPECT_EQ(Found(), Names{"rank-0.json x.pt.trace.json"});
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
  EXPECT_EQ(RankInName("rank3/trace.json"), 3);
  EXPECT_EQ(RankInName("rank3/rank3.json"), 3);
  EXPECT_EQ(RankInName("node_rank0/rank4.json"), -1);
  EXPECT_EQ(RankInName("rank_3/my_trace_5.json.gz"), 3);
  EXPECT_EQ(RankInName("dp_rank_0_tp_rank_1.json"), -1);
}

}  // namespace
}  // namespace reprise::pytorch
