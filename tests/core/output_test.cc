// Temporary outputs, kinds of output and checksums.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/checksums.h"
#include "core/output_kind.h"
#include "core/temporary_output.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

class OutputTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "reprise_output_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { fs::remove_all(directory_); }

  [[nodiscard]] std::string Path(const std::string& name) const {
    return (directory_ / name).string();
  }
  void Write(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(Path(name)).parent_path());
    std::ofstream(Path(name)) << text;
  }
  [[nodiscard]] std::string Read(const std::string& name) const {
    std::ifstream in(Path(name));
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  [[nodiscard]] std::size_t Entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
  }

  fs::path directory_;
};

TEST_F(OutputTest, NothingIsLeftOfWhatWasNotPublished) {
  {
    const auto file = TemporaryOutput::File(Path("a"));
    const auto folder = TemporaryOutput::Directory(Path("b/"));
    ASSERT_TRUE(file && folder);
    std::ofstream(fs::path(folder->path()) / "x") << "x";
    EXPECT_EQ(Entries(), 2U);
  }
  EXPECT_EQ(Entries(), 0U);
}

TEST_F(OutputTest, NamesAreNeverUsedTwice) {
  const auto a = TemporaryOutput::Directory(Path("out"));
  const auto b = TemporaryOutput::Directory(Path("out"));
  ASSERT_TRUE(a && b);
  EXPECT_NE(a->path(), b->path());
}

TEST_F(OutputTest, ADirectoryTakesAnothersPlaceAndKeepsWhatIsToStay) {
  Write("out/old", "old");
  Write("out/note", "mine");
  {
    auto folder = TemporaryOutput::Directory(Path("out"));
    ASSERT_TRUE(folder);
    std::ofstream(fs::path(folder->path()) / "new") << "new";
    ASSERT_TRUE(folder->Publish([](const std::string& name) { return name == "note"; }));
  }
  EXPECT_FALSE(fs::exists(Path("out/old")));
  EXPECT_EQ(Read("out/new"), "new");
  EXPECT_EQ(Read("out/note"), "mine");
  EXPECT_EQ(Entries(), 1U);
}

TEST_F(OutputTest, ALinkToADirectoryIsFollowed) {
  Write("real/old", "old");
  fs::create_directory_symlink(Path("real"), Path("link"));
  {
    auto folder = TemporaryOutput::Directory(Path("link"));
    ASSERT_TRUE(folder);
    std::ofstream(fs::path(folder->path()) / "new") << "new";
    ASSERT_TRUE(folder->Publish());
  }
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_EQ(Read("real/new"), "new");
}

TEST_F(OutputTest, OneKindNeverReplacesAnother) {
  EXPECT_TRUE(CheckReplaceable(Path("nothing"), OutputKind::kRun, false));
  Write("run/manifest.json", "{\"format\": \"reprise-run-1\"}");
  Write("set/a.0.et", "");
  Write("package/manifest.json", "{\"format\": \"reprise-package-1\"}");
  Write("package/a.0.et", "");
  Write("runs/run0/manifest.json", "{}");
  Write("project/manifest.json", "{\"name\": \"my extension\"}");
  const std::pair<const char*, OutputKind> kinds[] = {{"run", OutputKind::kRun},
                                                      {"set", OutputKind::kTraceSet},
                                                      {"package", OutputKind::kUnpackedPackage},
                                                      {"runs", OutputKind::kRun}};
  for (const auto& [name, own] : kinds) {
    EXPECT_FALSE(CheckReplaceable(Path(name), own, false)) << name;
    for (const OutputKind kind :
         {OutputKind::kRun, OutputKind::kTraceSet, OutputKind::kUnpackedPackage}) {
      EXPECT_EQ(CheckReplaceable(Path(name), kind, true).has_value(), kind == own)
          << name << " by a " << Name(kind);
      EXPECT_FALSE(CheckReplaceable(Path("project"), kind, true));
    }
  }
  const Status refused = CheckReplaceable(Path("run"), OutputKind::kUnpackedPackage, true);
  EXPECT_THAT(refused.error().message,
              testing::HasSubstr("holds a run; --force replaces an unpacked package only"));
  Write("run/a.0.et", "");
  const Status both = CheckReplaceable(Path("run"), OutputKind::kRun, true);
  EXPECT_THAT(both.error().message,
              testing::HasSubstr("holds a trace set beside the run; --force replaces a run only"));
}

TEST_F(OutputTest, ChecksumsFindDamage) {
  Write("set/a", "first");
  Write("set/b", "second");
  ASSERT_TRUE(WriteChecksums(Path("set"), OutputKind::kTraceSet));
  auto sums = Checksums::Read(Path("set"));
  ASSERT_TRUE(sums && sums->known());
  EXPECT_TRUE(sums->VerifyThese({"a", "b"}));
  Write("set/b", "Second");
  const Status changed = sums->VerifyThese({"a", "b"});
  ASSERT_FALSE(changed);
  EXPECT_NE(changed.error().message.find("set/b"), std::string::npos);
  fs::remove(Path("set/b"));
  EXPECT_FALSE(sums->VerifyThese({"a", "b"}));
  Write("set/c", "third");
  EXPECT_FALSE(sums->Verify("c"));
}

TEST_F(OutputTest, DirectoriesWithoutChecksumsAreNotKnown) {
  const auto none = Checksums::Read(Path("nothing"));
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->known());
  EXPECT_TRUE(none->Verify("anything"));
  for (const char* text : {"", "hello", "# reprise run 1\nxyz  a\n",
                           "# reprise run 1\n00000000000000000000000000000000  ../a\n"}) {
    Write("bad/checksums.xxh128", text);
    EXPECT_FALSE(Checksums::Read(Path("bad"))) << text;
  }
}

}  // namespace
}  // namespace reprise
