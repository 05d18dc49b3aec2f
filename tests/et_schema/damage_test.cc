// Files that were cut, bent or never were traces: always a message with path and byte, never a
// crash, never silently fewer nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "et_schema/graph.h"
#include "et_schema/trace_set.h"
#include "tests/et_schema/random_node.h"
#include "tests/et_schema/scratch_directory.h"
#include "tests/et_schema/trace_files.h"

namespace reprise {
namespace {

using testing::HasSubstr;

class Damage : public testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] std::string File(const std::string& stem) const {
    return scratch_.File(stem + GetParam());
  }
  static std::vector<Node> SomeNodes() {
    RandomNodes random(5);
    std::vector<Node> nodes;
    for (int i = 0; i < 3; ++i) {
      nodes.push_back(random.Next());
    }
    return nodes;
  }
  ScratchDirectory scratch_;
};

TEST_P(Damage, CutAnywhereIsAnError) {
  Node last = MakeNode(2, 1, {1});
  last.inputs = {Value{std::string("x")}, Value{std::int64_t{300}}};
  ASSERT_TRUE(WriteTrace(File("whole.0.et"), {MakeNode(1, 0), last}));
  const std::string whole = ReadFile(File("whole.0.et"));
  const std::string path = File("cut.0.et");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    WriteFile(path, whole.substr(0, size));
    const auto nodes = ReadTrace(path);
    ASSERT_FALSE(nodes) << "cut to " << size << " of " << whole.size() << " bytes";
    EXPECT_EQ(nodes.error().kind, ErrorKind::kBadInput);
    EXPECT_THAT(nodes.error().message, HasSubstr(path));
    ASSERT_FALSE(Graph::Load(path));
    ASSERT_FALSE(ValidateFile(path).errors.empty());
  }
}

TEST_P(Damage, FlippedBitsNeverCrash) {
  ASSERT_TRUE(WriteTrace(File("whole.0.et"), SomeNodes()));
  const std::string whole = ReadFile(File("whole.0.et"));
  const std::string path = File("bent.0.et");
  std::mt19937_64 random(11);
  int errors = 0;
  constexpr int kTries = 300;
  for (int i = 0; i < kTries; ++i) {
    std::string bent = whole;
    for (int flips = 0; flips < 3; ++flips) {
      bent[random() % bent.size()] ^= static_cast<char>(1U << (random() % 8));
    }
    WriteFile(path, bent);
    const auto nodes = ReadTrace(path);
    errors += nodes ? 0 : 1;
    if (nodes) {  // flips inside a name, a number or an argument
      EXPECT_EQ(nodes->size(), SomeNodes().size());
    }
  }
  if (GetParam().empty()) {
    EXPECT_GT(errors, 0);
  } else {
    EXPECT_GT(errors, kTries * 9 / 10) << "checksums";
  }
}

INSTANTIATE_TEST_SUITE_P(Compressions, Damage, testing::Values("", ".gz", ".zst"),
                         [](const auto& info) {
                           return info.param.empty() ? "plain" : info.param.substr(1);
                         });

// The message of reading a file with these bytes.
std::string ErrorFor(const std::string& bytes) {
  const ScratchDirectory scratch;
  const std::string path = scratch.File("x.0.et");
  WriteFile(path, bytes);
  const auto nodes = ReadTrace(path);
  return nodes ? "none" : nodes.error().message;
}

TEST(DamagedFile, OversizedMessageNamesItsOffset) {
  // An empty GlobalMetadata, then a message that announces 2^35 bytes.
  EXPECT_THAT(ErrorFor(std::string("\0\x80\x80\x80\x80\x80\x01", 7)),
              testing::AllOf(HasSubstr("byte 1 "), HasSubstr("34359738368 bytes")));
}

TEST(DamagedFile, LengthBeyondTheEndNamesBoth) {
  EXPECT_THAT(ErrorFor(std::string("\0\x64\x08\x01", 4)),
              testing::AllOf(HasSubstr("truncated"), HasSubstr("byte 1 "),
                             HasSubstr("100 bytes, 2 are left")));
}

TEST(DamagedFile, EndlessLengthIsNoTrace) {
  EXPECT_THAT(ErrorFor(std::string(20, '\xff')), HasSubstr("no message length at byte 0"));
}

TEST(DamagedFile, JsonIsNoTrace) {
  EXPECT_THAT(ErrorFor("{\"schema\": \"1.1.1\", \"nodes\": [" + std::string(400, ' ') + "]}"),
              HasSubstr("not an .et file"));
}

TEST(DamagedFile, EmptyFileIsNoTrace) { EXPECT_THAT(ErrorFor(""), HasSubstr("empty")); }

TEST(DamagedFile, MissingFileAndDirectoryAreBadInput) {
  const ScratchDirectory scratch;
  for (const std::string& path : {scratch.File("nothing.et"), scratch.path()}) {
    const auto reader = EtReader::Open(path);
    ASSERT_FALSE(reader);
    EXPECT_EQ(reader.error().kind, ErrorKind::kBadInput);
    EXPECT_THAT(reader.error().message, HasSubstr(path));
  }
}

TEST(DamagedFile, ConcatenatedCompressedStreamsAreOne) {
  for (const std::string ending : {".gz", ".zst"}) {
    const ScratchDirectory scratch;
    const std::string empty = scratch.File("empty.0.et" + ending);
    const std::string path = scratch.File("x.0.et" + ending);
    ASSERT_TRUE(WriteTrace(empty, {}));
    ASSERT_TRUE(WriteTrace(path, {MakeNode(1, 0)}));
    // The second stream's header has the shape of a node with unknown fields, hence no error.
    WriteFile(path, ReadFile(path) + ReadFile(empty));
    const auto nodes = ReadTrace(path);
    ASSERT_FALSE(nodes && nodes->size() == 1) << "the second stream was not read";
  }
}

}  // namespace
}  // namespace reprise
