#include "core/temporary_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <random>
#include <set>
#include <utility>

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kExchange = 2;  // RENAME_EXCHANGE of <linux/fs.h>

// Never destroyed: a signal may come while the program ends.
struct Existing {
  std::mutex mutex;
  std::set<std::string> paths;
};
Existing& AllExisting() {
  static auto* const existing = new Existing;
  return *existing;
}

std::string RandomName(const std::string& target) {
  std::random_device random;
  return fmt::format("{}.tmp-{:08x}{:08x}", target, random(), random());
}

tl::unexpected<Error> NotCreated(const std::string& path) {
  return EnvironmentError(fmt::format("{}: cannot be created: {}", path, std::strerror(errno)));
}

// Some file systems cannot exchange: then there is a moment without either.
bool Exchange(const std::string& a, const std::string& b) {
  if (::syscall(SYS_renameat2, AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), kExchange) == 0) {
    return true;
  }
  if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) {
    return false;
  }
  const std::string aside = RandomName(b);
  return std::rename(b.c_str(), aside.c_str()) == 0 && std::rename(a.c_str(), b.c_str()) == 0 &&
         std::rename(aside.c_str(), a.c_str()) == 0;
}

// Creates something under a name of its own beside `target`, and its parents: its path, which a
// signal's removal knows. `create(path)` returns false, with errno, where it did not.
template <typename Create>
Result<std::string> CreateBeside(const std::string& target, const Create& create) {
  constexpr int kAttempts = 100;
  Existing& existing = AllExisting();
  // Parents, too: one that a signal's removal has taken must not come back.
  const std::lock_guard lock(existing.mutex);
  REPRISE_TRY(CreateParents(target));
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::string path = RandomName(target);
    if (create(path.c_str())) {
      existing.paths.insert(path);
      return path;
    }
    if (errno != EEXIST) {
      break;
    }
  }
  return NotCreated(target);
}

}  // namespace

Status CreateParents(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (parent.empty()) {
    return {};
  }
  std::error_code error;
  std::filesystem::create_directories(parent, error);
  if (error) {
    return EnvironmentError(fmt::format("{}: the directory cannot be created for {}: {}",
                                        parent.string(), path, error.message()));
  }
  return {};
}

std::string ResolvedTarget(const std::string& target) {
  std::error_code error;
  fs::path path = fs::path(target).lexically_normal();
  if (!path.has_filename() && path.has_parent_path() && path != path.root_path()) {
    path = path.parent_path();
  }
  if (fs::is_symlink(path, error)) {
    const fs::path real = fs::canonical(path, error);
    return error ? path.string() : real.string();
  }
  return path.string();
}

Result<TemporaryOutput> TemporaryOutput::Directory(const std::string& target) {
  TemporaryOutput out;
  out.directory_ = true;
  out.target_ = ResolvedTarget(target);
  REPRISE_ASSIGN(out.path_, CreateBeside(out.target_, [](const char* path) {
                   constexpr mode_t kMode = 0777;  // mkdtemp's 0700 would stay with the output
                   return ::mkdir(path, kMode) == 0;
                 }));
  return out;
}

Result<TemporaryOutput> TemporaryOutput::File(const std::string& target) {
  TemporaryOutput out;
  out.target_ = target;
  REPRISE_ASSIGN(out.path_, CreateBeside(target, [&out](const char* path) {
                   constexpr mode_t kMode = 0666;
                   constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
                   out.descriptor_ = FileDescriptor(::open(path, kFlags, kMode));
                   return out.descriptor_.get() >= 0;
                 }));
  return out;
}

Result<TemporaryOutput> TemporaryOutput::Joined(const std::string& path) {
  TemporaryOutput out;
  out.directory_ = out.joined_ = true;
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    return EnvironmentError(fmt::format(
        "{}: another process of the job has created it, and it is not here: the output must lie "
        "where all processes see it, with a path that means the same to each",
        path));
  }
  Existing& existing = AllExisting();
  const std::lock_guard lock(existing.mutex);
  existing.paths.insert(path);
  out.path_ = path;
  return out;
}

TemporaryOutput TemporaryOutput::Kept(const std::string& path, const std::string& target) {
  TemporaryOutput out;
  out.directory_ = out.kept_ = true;
  out.path_ = path;
  out.target_ = ResolvedTarget(target);
  return out;
}

TemporaryOutput::TemporaryOutput(TemporaryOutput&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      target_(std::move(other.target_)),
      descriptor_(std::move(other.descriptor_)),
      directory_(other.directory_),
      joined_(other.joined_),
      kept_(other.kept_) {}

TemporaryOutput& TemporaryOutput::operator=(TemporaryOutput&& other) noexcept {
  if (this != &other) {
    Remove();
    path_ = std::exchange(other.path_, {});
    target_ = std::move(other.target_);
    descriptor_ = std::move(other.descriptor_);
    directory_ = other.directory_;
    joined_ = other.joined_;
    kept_ = other.kept_;
  }
  return *this;
}

TemporaryOutput::~TemporaryOutput() { Remove(); }

void TemporaryOutput::Remove() {
  descriptor_ = FileDescriptor();
  if (path_.empty()) {
    return;
  }
  if (!joined_ && !kept_) {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  Forget();
}

void TemporaryOutput::Leave() {
  if (joined_) {
    Forget();
  }
}

void TemporaryOutput::Forget() {
  Existing& existing = AllExisting();
  const std::lock_guard lock(existing.mutex);
  existing.paths.erase(path_);
  path_.clear();
}

Status TemporaryOutput::Publish(const Keep& keep) {
  const auto failed = [&] {
    return EnvironmentError(
        fmt::format("{}: cannot be written: {}", target_, std::strerror(errno)));
  };
  Existing& existing = AllExisting();
  // Held until all is in place: a signal's removal must not find what is to be kept.
  const std::lock_guard lock(existing.mutex);
  struct stat info {};
  if (!directory_ || ::lstat(target_.c_str(), &info) != 0) {
    if (std::rename(path_.c_str(), target_.c_str()) != 0) {
      return failed();
    }
    existing.paths.erase(path_);
    path_.clear();
    return {};
  }
  if (!Exchange(path_, target_)) {
    return failed();
  }
  std::error_code error;
  for (fs::directory_iterator it(path_, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!keep || !keep(name)) {
      continue;
    }
    if (std::rename(it->path().c_str(), (fs::path(target_) / name).c_str()) != 0) {
      existing.paths.erase(path_);  // better to leave it than to lose a file
      path_.clear();
      return failed();
    }
  }
  return {};
}

void RemoveTemporaryOutputs() {
  Existing& existing = AllExisting();
  // Held until the process ends: what other threads would begin now, they never do.
  existing.mutex.lock();
  constexpr int kTries = 20;  // other threads may still write into a directory
  for (const std::string& path : existing.paths) {
    std::error_code error;
    for (int i = 0; i < kTries && fs::exists(fs::symlink_status(path, error)); ++i) {
      fs::remove_all(path, error);
    }
  }
}

Status WriteTextFile(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  return out ? Status{} : EnvironmentError(fmt::format("{}: cannot be written", path));
}

}  // namespace reprise
