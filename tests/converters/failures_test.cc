// What is wrong with a capture is said with file and byte, and leaves nothing behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "converters/converter.h"
#include "packed.h"
#include "synthetic_capture.h"

namespace reprise::pytorch {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

SyntheticCapture Small(int rank = 0, int world_size = 1) {
  SyntheticCapture capture(rank, world_size);
  capture.Step(0, 1000);
  for (int i = 0; i < 10; ++i) {
    capture.Add({.name = "aten::mul_",
                 .start_us = 10.0 + i * 50,
                 .duration_us = 20,
                 .inputs = {TensorArg(4, {8}), DoubleArg(2)},
                 .outputs = {TensorArg(4, {8})}});
  }
  return capture;
}

class ConvertFailures : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = FreshDirectory(::testing::UnitTest::GetInstance()->current_test_info()->name());
    in_ = root_ + "/in";
    out_ = root_ + "/out";
    fs::create_directories(in_);
  }

  Result<ConvertReport> Convert(bool force = false, bool strict = false) {
    return FindConverter("pytorch")->convert(
        {.input_directory = in_, .output_directory = out_, .force = force, .strict = strict});
  }
  // Fails with `kind`, the message has all of the parts, and only the input is there afterwards.
  void ExpectFailure(ErrorKind kind, const std::vector<std::string>& parts) {
    const auto report = Convert();
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().kind, kind) << report.error().message;
    for (const std::string& part : parts) {
      EXPECT_THAT(report.error().message, HasSubstr(part));
    }
    EXPECT_EQ(std::distance(fs::directory_iterator(root_), fs::directory_iterator()), 1)
        << "something was left beside the input";
  }
  [[nodiscard]] std::string HostPath() const { return in_ + "/rank0.et.json"; }
  [[nodiscard]] std::string KinetoPath() const { return in_ + "/rank0.kineto.json"; }

  std::string root_, in_, out_;
};

TEST_F(ConvertFailures, EmptyDirectory) {
  ExpectFailure(ErrorKind::kBadInput, {in_, "rank<N>.et.json"});
}

TEST_F(ConvertFailures, DirectoryThatIsNotThere) {
  fs::remove(in_);
  const auto report = Convert();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(report.error().message, HasSubstr(in_));
}

TEST_F(ConvertFailures, MissingRankInBetween) {
  Small(0, 3).Write(in_);
  Small(2, 3).Write(in_);
  ExpectFailure(ErrorKind::kBadInput, {"rank 1 is missing"});
}

TEST_F(ConvertFailures, MissingRankAtTheEnd) {
  Small(0, 3).Write(in_);
  Small(1, 3).Write(in_);
  ExpectFailure(ErrorKind::kBadInput, {"rank 2 is missing", "3 ranks"});
}

TEST_F(ConvertFailures, TooManyRanks) {
  Small(0, 2).Write(in_);
  Small(1, 2).Write(in_);
  Small(2, 3).Write(in_);
  ExpectFailure(ErrorKind::kBadInput, {"one of 2 ranks"});
}

TEST_F(ConvertFailures, RankFileOfAnotherRank) {
  Small(0, 2).Write(in_);
  Small(1, 2).Write(in_);
  fs::copy_file(KinetoPath(), in_ + "/rank1.kineto.json", fs::copy_options::overwrite_existing);
  ExpectFailure(ErrorKind::kBadInput, {"rank1.kineto.json", "rank 0"});
}

TEST_F(ConvertFailures, HostTraceAloneHasNoTimesAndSaysSo) {
  Small().Write(in_);
  fs::remove(KinetoPath());
  const auto report = Convert();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_GT(report->diagnostics.CountOf("no_times"), 0U);
  const auto trace = Load(report->ranks.front().path);
  ASSERT_TRUE(trace);
  ASSERT_FALSE(trace->nodes.empty());
  for (const Node& node : trace->nodes) {
    EXPECT_EQ(node.start_ns, 0);
    EXPECT_EQ(node.duration_ns, 0);
  }
  const auto strict = Convert(true, true);
  ASSERT_FALSE(strict);
  EXPECT_THAT(strict.error().message, HasSubstr("no_times"));
}

TEST_F(ConvertFailures, TwoFilesForOneRank) {
  Small().Write(in_);
  WriteText(HostPath() + ".gz", Gzip(Small().HostText()));
  ExpectFailure(ErrorKind::kBadInput, {"two files for one rank"});
}

TEST_F(ConvertFailures, TruncatedJson) {
  Small().Write(in_);
  const std::string half = Small().HostText().substr(0, 1500);
  WriteText(HostPath(), half);
  ExpectFailure(ErrorKind::kBadInput, {HostPath(), "truncated", "byte 1500", "again"});
}

TEST_F(ConvertFailures, TruncatedGzip) {
  Small().Write(in_);
  fs::remove(HostPath());
  const std::string packed = Gzip(Small().HostText());
  WriteText(HostPath() + ".gz", packed.substr(0, packed.size() / 2));
  ExpectFailure(ErrorKind::kBadInput,
                {"rank0.et.json.gz", "truncated", "byte " + std::to_string(packed.size() / 2)});
}

TEST_F(ConvertFailures, DamagedGzip) {
  Small().Write(in_);
  fs::remove(HostPath());
  std::string packed = Gzip(Small().HostText());
  for (std::size_t i = packed.size() / 2; i < packed.size() / 2 + 20; ++i) {
    packed[i] = static_cast<char>(~packed[i]);
  }
  WriteText(HostPath() + ".gz", packed);
  ExpectFailure(ErrorKind::kBadInput, {"rank0.et.json.gz", "damaged", "byte "});
}

TEST_F(ConvertFailures, NotJson) {
  Small().Write(in_);
  WriteText(HostPath(), "hello");
  ExpectFailure(ErrorKind::kBadInput, {HostPath(), "not JSON", "byte 0"});
}

TEST_F(ConvertFailures, DamagedElement) {
  Small().Write(in_);
  std::string text = Small().HostText();
  const std::size_t at = text.find("\"attrs\":");
  text.replace(at, 8, "\"attrs\" ");
  WriteText(HostPath(), text);
  ExpectFailure(ErrorKind::kBadInput, {HostPath(), "not JSON", "byte "});
}

TEST_F(ConvertFailures, WrongSchema) {
  SyntheticCapture capture = Small();
  capture.schema = "2.0.0";
  capture.Write(in_);
  ExpectFailure(ErrorKind::kBadInput, {HostPath(), "wrong schema 2.0.0", "byte ", "1.1.1"});
}

TEST_F(ConvertFailures, SwappedFiles) {
  Small().Write(in_);
  WriteText(HostPath(), Small().KinetoText());
  ExpectFailure(ErrorKind::kBadInput, {HostPath(), "Kineto", "swapped"});
}

TEST_F(ConvertFailures, FilesOfDifferentRuns) {
  Small().Write(in_);
  SyntheticCapture other;
  for (int i = 0; i < 10; ++i) {
    other.Add({.name = "aten::add", .start_us = i * 50.0, .duration_us = 20});
  }
  WriteText(KinetoPath(), other.KinetoText());
  ExpectFailure(ErrorKind::kBadInput, {"do not belong together"});
}

TEST_F(ConvertFailures, NoHostOperations) {
  Small().Write(in_);
  WriteText(KinetoPath(), R"({"baseTimeNanoseconds": 0, "traceEvents": [{"ph": "M"}]})");
  ExpectFailure(ErrorKind::kBadInput, {KinetoPath(), "CPU activities"});
}

TEST_F(ConvertFailures, OutputIsKeptWithoutForce) {
  Small().Write(in_);
  ASSERT_TRUE(Convert());
  const auto before = fs::last_write_time(out_ + "/in.0.et");
  const auto again = Convert();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(again.error().message, AllOf(HasSubstr(out_), HasSubstr("--force")));
  EXPECT_EQ(fs::last_write_time(out_ + "/in.0.et"), before);
}

TEST_F(ConvertFailures, ForceReplacesTheTraceSetOnly) {
  Small().Write(in_);
  fs::create_directories(out_);
  WriteText(out_ + "/old.0.et", "stale");
  WriteText(out_ + "/notes.txt", "mine");
  ASSERT_TRUE(Convert(true));
  EXPECT_FALSE(fs::exists(out_ + "/old.0.et"));
  EXPECT_TRUE(fs::exists(out_ + "/notes.txt"));
  EXPECT_TRUE(fs::exists(out_ + "/in.0.et"));
  EXPECT_TRUE(fs::exists(out_ + "/comm_groups.json"));
}

TEST_F(ConvertFailures, FailureWithForceKeepsTheOldSet) {
  Small().Write(in_);
  ASSERT_TRUE(Convert());
  WriteText(HostPath(), "{");
  ASSERT_FALSE(Convert(true));
  EXPECT_TRUE(fs::exists(out_ + "/in.0.et"));
}

TEST_F(ConvertFailures, StrictRefusesLoss) {
  SyntheticCapture capture = Small();
  capture.Add({.name = "aten::addmm", .start_us = 700, .duration_us = 20, .in_host = false});
  capture.Write(in_);
  const auto report = Convert(false, true);
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("operation_without_host_record"));
  EXPECT_FALSE(fs::exists(out_));
  EXPECT_TRUE(Convert());
}

TEST_F(ConvertFailures, OneRankByItsFiles) {
  Small().Write(in_);
  fs::create_directories(out_);
  const ConvertRequest request{.host_trace = HostPath(),
                               .device_trace = KinetoPath(),
                               .rank = 0,
                               .output_file = out_ + "/one.0.et"};
  ASSERT_TRUE(FindConverter("pytorch")->convert(request));
  const auto again = FindConverter("pytorch")->convert(request);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, ErrorKind::kUsage);
  const auto trace = Load(out_ + "/one.0.et");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->nodes.size(), 11U);  // ten operations and the end of the step
}

}  // namespace
}  // namespace reprise::pytorch
