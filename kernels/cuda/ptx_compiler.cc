#include "kernels/cuda/ptx_compiler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include "core/text.h"
#include "kernels/disk_cache.h"
#include "kernels/program_sources.h"

extern char** environ;

namespace reprise {
namespace {

// The first is what the programs are tested with (scripts/check_targets).
constexpr std::array kCompilers = {"clang-14", "clang-15", "clang-16", "clang-17",
                                   "clang-18", "clang-19", "clang"};
constexpr std::array kLibraries = {"/usr/lib/clc/nvptx64--nvidiacl.bc",
                                   "/usr/share/clc/nvptx64--nvidiacl.bc",
                                   "/usr/local/share/clc/nvptx64--nvidiacl.bc"};
constexpr const char* kHowToGoOn = "install clang-14 and libclc-14, or use --device opencl";
constexpr std::size_t kErrorCharacters = 2000;
// The newest PTX that the oldest compiler writes, and the oldest that it is written for.
constexpr int kNewestTarget = 80;
constexpr int kOldestTarget = 70;

// A file without a name, in memory.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view text = {}) : fd_(memfd_create("reprise", MFD_CLOEXEC)) {
    while (is_open() && !text.empty()) {
      const ssize_t written = write(fd_, text.data(), text.size());
      if (written <= 0) {
        break;
      }
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    (void)lseek(fd_, 0, SEEK_SET);
  }
  ~MemoryFile() { (void)close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] std::string Text() const {
    std::string text;
    std::array<char, 65536> part{};
    (void)lseek(fd_, 0, SEEK_SET);
    for (ssize_t got = 0; (got = read(fd_, part.data(), part.size())) > 0;) {
      text.append(part.data(), static_cast<std::size_t>(got));
    }
    return text;
  }

 private:
  int fd_;
};

struct CompilerEnd {
  bool started = false;
  int status = 0;
};

CompilerEnd RunCompiler(const std::vector<std::string>& command, const MemoryFile& in,
                        const MemoryFile& out, const MemoryFile& err) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in.fd(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, out.fd(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, err.fd(), STDERR_FILENO);
  pid_t pid = 0;
  CompilerEnd ended;
  ended.started =
      posix_spawnp(&pid, arguments.front(), &files, nullptr, arguments.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&files);
  while (ended.started && waitpid(pid, &ended.status, 0) < 0 && errno == EINTR) {
  }
  return ended;
}

std::vector<std::string_view> WordsOf(const std::string& options) {
  std::vector<std::string_view> words = SplitText(options, ' ');
  std::erase(words, "");
  return words;
}

std::vector<std::string> Command(const char* compiler, const char* library,
                                 const std::string& options, int target) {
  // cl_khr_fp16: clang's header declares vload_half only with it. asm: a keyword of NVIDIA's
  // OpenCL.
  std::vector<std::string> command = {compiler, "-x", "cl", "-target", "nvptx64-nvidia-nvcl"};
  for (const std::string& word :
       {std::string("-target-cpu"), fmt::format("sm_{}", target), std::string("-target-feature"),
        std::string("+ptx70"), std::string("-cl-ext=+cl_khr_fp16"),
        std::string("-finclude-default-header"), std::string("-mlink-builtin-bitcode"),
        std::string(library)}) {
    command.insert(command.end(), {"-Xclang", word});
  }
  command.insert(command.end(), {"-Dasm=__asm__", "-O3", "-S", "-o", "-"});
  for (const std::string_view option : WordsOf(options)) {
    command.emplace_back(option);
  }
  command.emplace_back("-");
  return command;
}

Result<std::string> SourceOf(const std::string& program) {
  auto source = ProgramSource(program);
  return source ? Result<std::string>(std::move(*source))
                : UsageError("there is no program " + program + " in kernels/ops");
}

}  // namespace

int PtxTarget(int compute_capability) {
  return compute_capability >= kNewestTarget ? kNewestTarget : kOldestTarget;
}

Result<std::string> PtxKey(const std::string& program, const std::string& options, int target) {
  REPRISE_ASSIGN(const std::string source, SourceOf(program));
  return DiskCache::Key(
      {source, fmt::format("{}", fmt::join(WordsOf(options), " ")), "ptx", std::to_string(target)});
}

Result<std::string> CompileToPtx(const std::string& program, const std::string& options,
                                 int target) {
  REPRISE_ASSIGN(const std::string source, SourceOf(program));
  const auto library = std::ranges::find_if(kLibraries, [](const char* path) {
    std::error_code error;
    return std::filesystem::exists(path, error);
  });
  if (library == kLibraries.end()) {
    return EnvironmentError(fmt::format("{}: Reprise's own kernels need libclc for this device; {}",
                                        program, kHowToGoOn));
  }
  for (const char* compiler : kCompilers) {
    const MemoryFile in(source);
    const MemoryFile out;
    const MemoryFile err;
    if (!in.is_open() || !out.is_open() || !err.is_open()) {
      return EnvironmentError(
          fmt::format("a file in memory can't be made: {}", std::strerror(errno)));
    }
    const CompilerEnd ended =
        RunCompiler(Command(compiler, *library, options, target), in, out, err);
    if (!ended.started) {
      continue;
    }
    if (!WIFEXITED(ended.status) || WEXITSTATUS(ended.status) != 0) {
      return EnvironmentError(fmt::format("{} could not compile {} for this device: {}", compiler,
                                          program, err.Text().substr(0, kErrorCharacters)));
    }
    return fmt::format("// reprise: {} {}\n{}", program, options, out.Text());
  }
  return EnvironmentError(
      fmt::format("{}: Reprise's own kernels need clang for this device; {}", program, kHowToGoOn));
}

}  // namespace reprise
