// Compiled programs on disk: shared by processes, and never trusted when damaged.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "kernels/backend.h"
#include "kernels/device.h"
#include "kernels/disk_cache.h"
#include "kernels/program_sources.h"
#include "tests/skip.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

class ProgramCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::temp_directory_path() / ("reprise_cache_" + std::to_string(getpid()));
    fs::remove_all(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  // Opens the device afresh, compiles the smallest program, runs it, and returns the counts,
  // without those of the check of tensor cores when it opens; {-1, -1} if anything fails.
  static Device::ProgramStats CompileOnce(const std::string& cache) {
    const auto device = OpenDevice({.backend = "opencl", .index = 0, .cache_directory = cache});
    if (!device) {
      return {-1, -1};
    }
    const Device::ProgramStats at_open = (*device)->program_stats();
    const auto buffer = (*device)->Allocate(4096);
    const auto stream = (*device)->CreateStream(false);
    DeviceKernel kernel{.program = "surrogate.cl", .entry = "surrogate"};
    kernel.args = {buffer->get(), std::int64_t{1024}, std::int64_t{1}, std::int32_t{1}};
    kernel.local = {1, 1, 1};
    const auto launch = (*device)->Prepare(kernel);
    float first = 0;
    if (!launch || !(*stream)->Enqueue(**launch) ||
        !(*stream)->Download(&first, **buffer, 0, sizeof(first)) || !(*stream)->Finish() ||
        first != 0.25F) {
      return {-1, -1};
    }
    const Device::ProgramStats stats = (*device)->program_stats();
    return {stats.compiled - at_open.compiled, stats.from_disk - at_open.from_disk};
  }
  static bool HasDevice() {
    const auto devices = ListDevices("opencl");
    return devices && !devices->empty();
  }
  [[nodiscard]] std::vector<fs::path> Entries() const {
    std::vector<fs::path> entries;
    for (const auto& entry : fs::directory_iterator(directory_)) {
      if (entry.path().extension() == ".clbin") {
        entries.push_back(entry.path());
      }
    }
    return entries;
  }
  fs::path directory_;
};

TEST_F(ProgramCacheTest, TheSecondDeviceReadsTheFile) {
  if (!HasDevice()) {
    REPRISE_SKIP("opencl", FindBackend("opencl")->WhyNone());
  }
  EXPECT_EQ(CompileOnce(directory_).compiled, 1);
  const Device::ProgramStats second = CompileOnce(directory_);
  EXPECT_EQ(second.compiled, 0);
  EXPECT_EQ(second.from_disk, 1);
}

TEST_F(ProgramCacheTest, DamagedFilesAreCompiledAgain) {
  if (!HasDevice()) {
    REPRISE_SKIP("opencl", FindBackend("opencl")->WhyNone());
  }
  ASSERT_EQ(CompileOnce(directory_).compiled, 1);
  for (const fs::path& entry : Entries()) {
    std::fstream file(entry, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(fs::file_size(entry) / 2));
    file.write("damage", 6);
  }
  EXPECT_EQ(CompileOnce(directory_).compiled, 1) << "flipped bytes";
  EXPECT_EQ(CompileOnce(directory_).from_disk, 1) << "and stored again";
  for (const fs::path& entry : Entries()) {
    fs::resize_file(entry, fs::file_size(entry) - 1);
  }
  EXPECT_EQ(CompileOnce(directory_).compiled, 1) << "cut short";
  for (const fs::path& entry : Entries()) {
    std::ofstream(entry, std::ios::trunc).close();
  }
  EXPECT_EQ(CompileOnce(directory_).compiled, 1) << "empty";
}

TEST_F(ProgramCacheTest, ABinaryThatTheDriverRejectsIsCompiledAgain) {
  if (!HasDevice()) {
    REPRISE_SKIP("opencl", FindBackend("opencl")->WhyNone());
  }
  ASSERT_EQ(CompileOnce(directory_).compiled, 1);
  // Sound as a file, nonsense as a program: what a changed driver makes of old entries.
  const DiskCache cache(directory_);
  for (const fs::path& entry : Entries()) {
    ASSERT_TRUE(cache.Store(entry.stem(), std::vector<unsigned char>(1000, 7)));
  }
  const Device::ProgramStats stats = CompileOnce(directory_);
  EXPECT_EQ(stats.compiled, 1);
}

TEST_F(ProgramCacheTest, ProcessesThatStartTogetherCompileOnce) {
  if (!HasDevice()) {
    REPRISE_SKIP("opencl", FindBackend("opencl")->WhyNone());
  }
  constexpr int kProcesses = 4;
  std::vector<pid_t> children;
  int compiled_pipe[2];
  ASSERT_EQ(pipe(compiled_pipe), 0);
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      // A program of its own, so that the child's OpenCL runtime starts from nothing.
      const std::string self = fs::read_symlink("/proc/self/exe");
      dup2(compiled_pipe[1], STDERR_FILENO);
      execl(self.c_str(), self.c_str(), "--gtest_filter=CacheChild.*",
            "--gtest_also_run_disabled_tests", "--gtest_brief=1",
            ("--cache=" + directory_.string()).c_str(), nullptr);
      _exit(99);
    }
    children.push_back(child);
  }
  close(compiled_pipe[1]);
  std::string output;
  char buffer[256];
  for (ssize_t n = 0; (n = read(compiled_pipe[0], buffer, sizeof(buffer))) > 0;) {
    output.append(buffer, static_cast<std::size_t>(n));
  }
  close(compiled_pipe[0]);
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  const auto count = [&](const std::string& text) {
    int found = 0;
    for (auto at = output.find(text); at != std::string::npos; at = output.find(text, at + 1)) {
      ++found;
    }
    return found;
  };
  EXPECT_EQ(count("compiled=1"), 1) << output;
  EXPECT_EQ(count("compiled=0"), kProcesses - 1) << output;
}

TEST_F(ProgramCacheTest, CompileLeavesNothingToPrepare) {
  const auto device =
      OpenDevice({.backend = "opencl", .index = 0, .cache_directory = directory_.string()});
  if (!device) {
    REPRISE_SKIP("opencl", device.error().message);
  }
  const DeviceKernel surrogate{.program = "surrogate.cl", .entry = "surrogate"};
  const DeviceKernel sequence{
      .program = "fill.cl", .entry = "sequence_real", .options = "-DT=float32"};
  const Launch launches[] = {surrogate, sequence, surrogate};
  const int at_open = (*device)->program_stats().compiled;
  ASSERT_TRUE((*device)->Compile(launches));
  EXPECT_EQ((*device)->program_stats().compiled, at_open + 2);
  ASSERT_TRUE((*device)->Prepare(sequence));
  EXPECT_EQ((*device)->program_stats().compiled, at_open + 2);
  const Launch broken[] = {DeviceKernel{.program = "nonexistent.cl", .entry = "x"}};
  EXPECT_FALSE((*device)->Compile(broken));
}

TEST(DiskCacheTest, WithoutWaitingATakenLockIsRefused) {
  const fs::path directory =
      fs::temp_directory_path() / ("reprise_lock_" + std::to_string(getpid()));
  const DiskCache cache(directory);
  {
    const auto held = cache.Acquire("key");
    ASSERT_TRUE(held);
    EXPECT_FALSE(cache.Acquire("key", /*wait=*/false));
    EXPECT_TRUE(cache.Acquire("other", /*wait=*/false));
  }
  EXPECT_TRUE(cache.Acquire("key", /*wait=*/false));
  fs::remove_all(directory);
}

// Run only as a child of the test above.
TEST(CacheChild, DISABLED_CompilesAndReports) {
  for (const std::string& argument : testing::internal::GetArgvs()) {
    if (argument.starts_with("--cache=")) {
      class Exposed : public ProgramCacheTest {
       public:
        using ProgramCacheTest::CompileOnce;
        void TestBody() override {}
      };
      const Device::ProgramStats stats = Exposed::CompileOnce(argument.substr(8));
      ASSERT_GE(stats.compiled, 0);
      const std::string line = "compiled=" + std::to_string(stats.compiled) + "\n";
      ASSERT_EQ(write(STDERR_FILENO, line.data(), line.size()), static_cast<ssize_t>(line.size()));
    }
  }
}

TEST(DiskCacheTest, KeysTellEverythingApart) {
  EXPECT_NE(DiskCache::Key({"ab", "c"}), DiskCache::Key({"a", "bc"}));
  EXPECT_EQ(DiskCache::Key({"ab", "c"}), DiskCache::Key({"ab", "c"}));
}

TEST(DiskCacheTest, WithoutADirectoryNothingIsKept) {
  const DiskCache cache("");
  EXPECT_TRUE(cache.Store("key", {1, 2, 3}));
  EXPECT_FALSE(cache.Load("key"));
  EXPECT_FALSE(cache.Acquire("key"));
}

TEST(DiskCacheTest, AnUnwritableDirectoryIsAnErrorOfStoreOnly) {
  const DiskCache cache("/proc/nowhere");
  EXPECT_FALSE(cache.Store("key", {1, 2, 3}));
  EXPECT_FALSE(cache.Load("key"));
  EXPECT_FALSE(cache.Acquire("key"));
}

TEST(ProgramSources, PreludeAndIncludesArePutIn) {
  const auto source = ProgramSource("elementwise.cl");
  ASSERT_TRUE(source);
  EXPECT_NE(source->find("typedef struct"), std::string::npos);
  EXPECT_NE(source->find("FLOAT(0, add,"), std::string::npos);
  EXPECT_EQ(source->find("#include \""), std::string::npos);
  EXPECT_FALSE(ProgramSource("common.cl"));
  EXPECT_FALSE(ProgramSource("nonexistent.cl"));
}

}  // namespace
}  // namespace reprise
