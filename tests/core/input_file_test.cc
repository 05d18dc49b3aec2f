#include "core/input_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace reprise {
namespace {

namespace fs = std::filesystem;

TEST(InputFile, OnlyRegularFilesAreOpened) {
  std::string name = (fs::temp_directory_path() / "reprise_input_XXXXXX").string();
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  const std::string fifo = name + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string& path : {fifo, name, std::string("/dev/zero"), name + "/nothing"}) {
    const auto opened = OpenInput(path);
    ASSERT_FALSE(opened) << path;
    EXPECT_EQ(opened.error().kind, ErrorKind::kBadInput);
    EXPECT_FALSE(ReadJsonText(path));
    EXPECT_EQ(FirstBytes(path, 4), "");
  }
  std::ofstream(name + "/marked.json") << "\xef\xbb\xbf{}";
  EXPECT_EQ(ReadJsonText(name + "/marked.json").value(), "{}");
  EXPECT_FALSE(ReadText(name + "/marked.json", 2));
  EXPECT_EQ(FirstBytes(name + "/marked.json", 4), "\xef\xbb\xbf{");
  EXPECT_EQ(FirstBytes(name + "/marked.json", 64), "\xef\xbb\xbf{}");
  fs::remove_all(name);
}

TEST(InputFile, JsonIsBoundedBeforeItIsParsed) {
  EXPECT_TRUE(CheckJsonText(R"({"a": ["[[[[", "\"[["], "b": {}})", "x"));
  EXPECT_TRUE(CheckJsonText(std::string(500, '['), "x"));
  EXPECT_FALSE(CheckJsonText(std::string(600, '['), "x"));
  std::string commas = "[";
  commas.append(11'000'000, ',');
  EXPECT_FALSE(CheckJsonText(commas, "x"));
  EXPECT_TRUE(CheckJsonText("\"never ends", "x"));  // the parser's task
}

TEST(InputFile, ExpansionIsBounded) {
  const ExpansionBudget budget("x");
  EXPECT_TRUE(budget.Check(InputLimits::kFreeBytes, 1));
  EXPECT_TRUE(budget.Check(std::uint64_t{8} << 30, std::uint64_t{100} << 20));
  const Status bomb = budget.Check(std::uint64_t{8} << 30, 66'000);
  ASSERT_FALSE(bomb);
  EXPECT_NE(bomb.error().message.find("--limits ratio="), std::string::npos);
}

TEST(InputFile, LimitsAreGivenByName) {
  const auto limits = ParseInputLimits("ratio=1e4,depth=9");
  ASSERT_TRUE(limits);
  EXPECT_EQ(limits->ratio, 10'000U);
  EXPECT_EQ(limits->depth, 9U);
  EXPECT_EQ(limits->bytes, InputLimits().bytes);
  EXPECT_EQ(ParseInputLimits("ranks=7")->ranks, 7U);
  EXPECT_NE(InputLimitNames().find(", ranks, "), std::string::npos);
  EXPECT_GT(ParseInputLimits("none")->ratio, std::uint64_t{1} << 60);
  for (const char* text : {"", "ratio", "ratio=", "ratio=x", "ratio=0", "size=1", "ratio=1e99"}) {
    EXPECT_FALSE(ParseInputLimits(text)) << text;
  }
}

}  // namespace
}  // namespace reprise
