// What holds for every input format.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "chakra_files.h"
#include "et_schema/trace_set.h"
#include "packed.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using namespace chakra;  // NOLINT: the samples

struct Sample {
  std::string format;
  std::string file;
  std::string text;
};

std::string ReadBytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Each file in tests/converters/samples/<format>/, and what the tests of a format write.
std::vector<Sample> Samples() {
  std::vector<Sample> out = {
      {"chakra", "first.0.et", First()},         {"chakra", "second.0.et", Second()},
      {"chakra", "third.0.et", Third()},         {"chakra", "fourth.0.et", Fourth()},
      {"chakra", "jsonized.0.json", Jsonized()}, {"chakra", "nodes.0.json", JsonNodes()},
      {"chakra", "array.0.json", JsonArray()},   {"chakra", "feeder.0.json", FeederJson()},
      {"chakra", "linked.0.json", Linked()}};
  pytorch::SyntheticCapture capture(0, 1);
  capture.Step(0, 100);
  out.push_back({"pytorch", "rank0.et.json", capture.HostText()});
  out.push_back({"pytorch", "rank0.kineto.json", capture.KinetoText()});
  for (const auto& entry :
       fs::recursive_directory_iterator(REPRISE_SOURCE_DIR "/tests/converters/samples")) {
    if (entry.is_regular_file()) {
      out.push_back({entry.path().parent_path().filename(), entry.path().filename(),
                     ReadBytes(entry.path())});
    }
  }
  return out;
}

class Formats : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ =
        pytorch::FreshDirectory(::testing::UnitTest::GetInstance()->current_test_info()->name());
  }
  std::string Write(const Sample& sample, const std::string& text) {
    std::string path = root_ + "/" + sample.file;
    pytorch::WriteText(path, text);
    return path;
  }
  // Of one file; to a directory, which is emptied first.
  Result<ConvertReport> Convert(const Sample& sample, const std::string& text) {
    fs::remove_all(root_ + "/out");
    return FindConverter(sample.format)
        ->convert({.input_file = Write(sample, text),
                   .output_directory = root_ + "/out",
                   .world_size = 2});
  }
  // An error with the file's name and nothing left, or a trace that validates.
  void ExpectErrorOrTrace(const Sample& sample, const std::string& text, const std::string& what) {
    const auto report = Convert(sample, text);
    if (!report) {
      EXPECT_THAT(report.error().message, ::testing::HasSubstr(sample.file)) << what;
      EXPECT_FALSE(fs::exists(root_ + "/out")) << what;
      return;
    }
    for (const ConvertedRank& rank : report->ranks) {
      const ValidationReport validation = ValidateFile(rank.path);
      EXPECT_TRUE(validation.errors.empty())
          << sample.file << ", " << what << ": " << validation.errors.front();
    }
  }
  std::string root_;
};

// What these tests say of a format, they say of its samples: without one they would say nothing.
TEST_F(Formats, EachHasASample) {
  std::set<std::string, std::less<>> formats;
  for (const Sample& sample : Samples()) {
    EXPECT_NE(FindConverter(sample.format), nullptr) << sample.file << ": no such format";
    formats.insert(sample.format);
  }
  for (const ConverterKind& kind : BuiltinConverters()) {
    EXPECT_TRUE(formats.contains(kind.name))
        << kind.name << ": put a small input in tests/converters/samples/" << kind.name << "/";
  }
}

TEST_F(Formats, EachKnowsItsOwnAndNoOther) {
  for (const Sample& sample : Samples()) {
    const std::string path = Write(sample, sample.text);
    for (const ConverterKind& kind : BuiltinConverters()) {
      EXPECT_EQ(kind.sniff(path), kind.name == sample.format) << sample.file << " as " << kind.name;
    }
    for (const std::string& packed : {Gzip(sample.text), Zstd(sample.text)}) {
      pytorch::WriteText(path, packed);
      const ConverterKind* kind = SniffConverter(path);
      ASSERT_NE(kind, nullptr) << sample.file;
      EXPECT_EQ(kind->name, sample.format);
    }
    fs::remove(path);
  }
}

TEST_F(Formats, OtherFilesAreNobodys) {
  for (const std::string& text :
       {std::string(), std::string("hello\n"), std::string("{}"), std::string("[]"),
        std::string("{\"a\": 1}"), std::string("\x7f\x45LF"), std::string(100, '\0'),
        std::string("\x1f\x8b\x08"), std::string("DATA science\nis fun\n")}) {
    const std::string path = root_ + "/other";
    pytorch::WriteText(path, text);
    EXPECT_EQ(SniffConverter(path), nullptr) << text;
  }
}

// Opening a FIFO waits for a writer: no format opens one, alone or in a directory.
TEST_F(Formats, FifosAreNobodys) {
  for (const Sample& sample : Samples()) {
    const std::string path = root_ + "/" + sample.file;
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0) << path;
    for (const ConverterKind& kind : BuiltinConverters()) {
      EXPECT_FALSE(kind.sniff(path)) << kind.name;
      EXPECT_FALSE(kind.convert({.input_file = path, .output_directory = root_ + "/out"}))
          << kind.name;
      EXPECT_FALSE(kind.convert({.input_directory = root_, .output_directory = root_ + "/out"}))
          << kind.name;
    }
    fs::remove(path);
  }
}

TEST_F(Formats, TwiceIsByteIdentical) {
  for (const Sample& sample : Samples()) {
    if (sample.format == "pytorch") {
      continue;  // pairs: tests/converters/real_captures_test.cc
    }
    const auto first = Convert(sample, sample.text);
    ASSERT_TRUE(first) << first.error().message;
    std::vector<std::string> bytes;
    for (const ConvertedRank& rank : first->ranks) {
      bytes.push_back(ReadBytes(rank.path));
    }
    const auto second = Convert(sample, sample.text);
    ASSERT_TRUE(second);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      EXPECT_EQ(ReadBytes(second->ranks[i].path), bytes[i]) << second->ranks[i].path;
      EXPECT_FALSE(bytes[i].empty());
    }
  }
}

TEST_F(Formats, CutAnywhere) {
  for (const Sample& sample : Samples()) {
    if (sample.format == "pytorch") {
      continue;
    }
    const std::size_t stride = 1 + sample.text.size() / 60;
    for (std::size_t size = 0; size < sample.text.size(); size += stride) {
      ExpectErrorOrTrace(sample, sample.text.substr(0, size), "cut at " + std::to_string(size));
    }
    const std::string packed = Zstd(sample.text);
    EXPECT_FALSE(Convert(sample, packed.substr(0, packed.size() - 3))) << sample.file;
  }
}

TEST_F(Formats, BytesChangedAnywhere) {
  for (const Sample& sample : Samples()) {
    if (sample.format == "pytorch") {
      continue;
    }
    const std::size_t stride = 1 + sample.text.size() / 60;
    for (std::size_t at = 0; at < sample.text.size(); at += stride) {
      for (const char byte : {'\xff', '\0', '9'}) {
        std::string text = sample.text;
        text[at] = byte;
        ExpectErrorOrTrace(sample, text,
                           "byte " + std::to_string(at) + " = " + std::to_string(byte));
      }
    }
  }
}

TEST_F(Formats, NoNumbersInJson) {
  const Sample sample{"chakra", "a.0.json", ""};
  for (const std::string value : {"NaN", "-Infinity", "\"x\"", "{}", "-1", "1e400"}) {
    ExpectErrorOrTrace(
        sample, "[{\"id\": 1, \"type\": \"COMP_NODE\", \"durationMicros\": " + value + "}]", value);
  }
  const auto report = Convert(
      sample,
      R"([{"id": 1, "type": "COMP_NODE", "name": 4, "durationMicros": NaN, "inputs": []}])");
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->diagnostics.CountOf("non_json_number"), 1U);
  EXPECT_GE(report->diagnostics.CountOf("json_value_type"), 1U);
}

TEST_F(Formats, InvalidUtf8IsReplacedAndCounted) {
  std::string text = Fourth();
  text.replace(text.find("sum"), 3, "s\xff\xfe");
  const auto report = Convert({"chakra", "a.0.et", ""}, text);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->diagnostics.CountOf("invalid_utf8"), 1U);
}

}  // namespace
}  // namespace reprise
