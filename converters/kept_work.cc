#include "converters/kept_work.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "core/checksums.h"
#include "core/shown_text.h"
#include "core/stored_values.h"
#include "core/temporary_output.h"
#include "core/version.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKeptFormat = "reprise-partial-1";
constexpr char kLockFile[] = "lock";
constexpr char kKeptJobFile[] = "job";
constexpr char kRanksFolder[] = "ranks";
constexpr char kSetFolder[] = "set";
constexpr std::string_view kPartEnding = ".part";
constexpr std::string_view kReadEnding = ".read";
constexpr std::string_view kMadeEnding = ".made";

struct KeptRecord {
  std::string key, sum, bytes;
};

struct KeptJob {
  std::string format, version, program;
  std::string command;
  std::vector<std::pair<std::string, std::string>> options;
};

tl::unexpected<Error> KeptFailure(const std::string& path, std::string_view what) {
  return EnvironmentError(fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}

// The file appears whole, with its own checksum at its end.
template <typename T>
Status StoreKept(const std::string& path, const T& value) {
  std::string bytes;
  ValueWriter write(bytes);
  write(value);
  REPRISE_ASSIGN(TemporaryOutput draft, TemporaryOutput::File(path));
  REPRISE_TRY(WriteTextFile(draft.path(), bytes + ChecksumOfBytes(bytes)));
  return draft.Publish();
}

template <typename T>
std::optional<T> LoadKept(const std::string& path) {
  const std::optional<std::string> bytes = ReadWithOwnChecksum(path);
  if (!bytes) {
    return std::nullopt;
  }
  T value;
  ValueReader read(*bytes, TextsRead::kAsWritten);
  read(value);
  return read.AtEnd() ? std::optional(std::move(value)) : std::nullopt;
}

// What no run of ours has put into the directory; empty: nothing.
std::string StrangerIn(const std::string& directory) {
  constexpr std::array kOwn = {kLockFile, kKeptJobFile, kRanksFolder, kSetFolder};
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    if (std::ranges::find(kOwn, name) == kOwn.end() &&
        !name.starts_with(fmt::format("{}.tmp-", kKeptJobFile))) {
      return name;
    }
  }
  return {};
}

Status MakeFolder(const std::string& path, mode_t mode) {
  return ::mkdir(path.c_str(), mode) == 0 || errno == EEXIST
             ? Status()
             : KeptFailure(path, "cannot be created");
}

Status EmptyFolder(const std::string& path, mode_t mode) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) {
    return EnvironmentError(fmt::format("{}: cannot be removed: {}", path, error.message()));
  }
  return MakeFolder(path, mode);
}

constexpr mode_t kOwnFolder = 0700;
constexpr mode_t kAnyFolder = 0777;  // as any new directory: it becomes the output

// How the options of two runs differ; empty: not at all.
std::string OptionThatDiffers(const KeptJob& was, const ResumableJob& job) {
  const std::map<std::string, std::string> before(was.options.begin(), was.options.end());
  std::map<std::string, std::string> now(job.options.begin(), job.options.end());
  const auto said = [](const std::string& name, const std::string& value) {
    return value.empty() ? "no " + name : fmt::format("{} {}", name, ShownText(value));
  };
  for (const auto& [name, value] : before) {
    if (now[name] != value) {
      return fmt::format("begun with {}, and now there is {}", said(name, value),
                         said(name, now[name]));
    }
    now.erase(name);
  }
  const auto more = std::ranges::find_if(now, [](const auto& one) { return !one.second.empty(); });
  return more == now.end() ? std::string()
                           : fmt::format("begun with no {}, and now there is {}", more->first,
                                         said(more->first, more->second));
}

}  // namespace

std::string StateOfFile(const std::string& path) {
  struct stat info {};
  if (path.empty() || ::stat(path.c_str(), &info) != 0) {
    return {};
  }
  std::error_code error;
  return fmt::format("{}|{}|{}.{:09}|{}.{:09}",
                     fs::absolute(path, error).lexically_normal().string(), info.st_size,
                     info.st_mtim.tv_sec, info.st_mtim.tv_nsec, info.st_ctim.tv_sec,
                     info.st_ctim.tv_nsec);
}

Result<KeptWork> KeptWork::Open(const std::string& target, const ResumableJob& job,
                                const std::vector<std::string>& names, Processes& processes) {
  KeptWork out;
  out.directory_ = ResolvedTarget(target) + ".partial";
  Result<std::string> begun;
  if (processes.first()) {
    const Status status = out.Begin(job, names);
    begun = status ? Result<std::string>(out.found_ ? "found" : "")
                   : tl::unexpected<Error>(status.error());
  }
  REPRISE_ASSIGN(const std::vector<std::string> all, processes.Exchange(begun));
  out.found_ = !all.front().empty();
  REPRISE_TRY(processes.Agree(processes.first() ? Status() : out.Lock(false)));
  return out;
}

std::string KeptWork::SetDirectory() const { return (fs::path(directory_) / kSetFolder).string(); }

std::string KeptWork::RecordPath(const std::string& name, std::string_view ending) const {
  return (fs::path(directory_) / kRanksFolder / fmt::format("{}{}", name, ending)).string();
}

std::string KeptWork::PartPath(const std::string& name) const {
  return RecordPath(name, kPartEnding);
}

// Alone: no other process has it, of whatever job. A lock ends with its process.
Status KeptWork::Lock(bool alone) {
  const std::string path = (fs::path(directory_) / kLockFile).string();
  constexpr mode_t kMode = 0600;
  if (lock_.get() < 0) {
    lock_ = FileDescriptor(
        ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | (alone ? O_CREAT : 0), kMode));
  }
  if (lock_.get() < 0) {
    return alone ? KeptFailure(path, "cannot be created")
                 : EnvironmentError(fmt::format(
                       "{}: another process of the job has created it, and it is not here: the "
                       "output must lie where all processes see it, with a path that means the "
                       "same to each",
                       path));
  }
  if (::flock(lock_.get(), (alone ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0) {
    return {};
  }
  return errno == EWOULDBLOCK
             ? EnvironmentError(fmt::format("{}: another job is at work in it; wait until it has "
                                            "ended, or choose another -o",
                                            directory_))
             : KeptFailure(path,
                           "cannot be locked, which --resume needs so that no two jobs write one "
                           "output");
}

Status KeptWork::Begin(const ResumableJob& job, const std::vector<std::string>& names) {
  REPRISE_TRY(CreateParents(directory_));
  constexpr int kAttempts = 100;  // another job may just be removing it
  bool locked = false;
  for (int i = 0; i < kAttempts && !locked; ++i) {
    lock_ = FileDescriptor();
    REPRISE_TRY(MakeFolder(directory_, kOwnFolder));
    struct stat info {};
    if (::lstat(directory_.c_str(), &info) != 0) {
      continue;
    }
    constexpr mode_t kByOthers = S_IWGRP | S_IWOTH;
    if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & kByOthers) != 0) {
      return UsageError(fmt::format(
          "{}: is to keep unfinished work, and is not a directory of this user that only they can "
          "write to; remove it, or choose another -o",
          directory_));
    }
    if (const std::string stranger = StrangerIn(directory_); !stranger.empty()) {
      return UsageError(fmt::format(
          "{}: is to keep unfinished work, and holds something else: {}; remove it, or choose "
          "another -o",
          directory_, ShownText(stranger)));
    }
    if (Status status = Lock(true); !status) {
      std::error_code error;
      if (lock_.get() >= 0 || fs::exists(directory_, error)) {
        return status;
      }
      continue;
    }
    // The one that has this name now, and no other job has removed.
    struct stat mine {};
    const std::string path = (fs::path(directory_) / kLockFile).string();
    locked = ::fstat(lock_.get(), &mine) == 0 && ::lstat(path.c_str(), &info) == 0 &&
             mine.st_ino == info.st_ino && mine.st_dev == info.st_dev;
  }
  if (!locked) {
    return EnvironmentError(
        fmt::format("{}: cannot be locked: others keep removing it", directory_));
  }
  REPRISE_TRY(CheckJob(job));
  REPRISE_TRY(TidyRanks(names));
  return Lock(false);
}

Status KeptWork::CheckJob(const ResumableJob& job) {
  const std::string path = (fs::path(directory_) / kKeptJobFile).string();
  const KeptJob mine{.format = std::string(kKeptFormat),
                     .version = std::string(kVersion),
                     .program = ChecksumOfProgram(),
                     .command = job.command,
                     .options = job.options};
  const std::optional<KeptJob> was = LoadKept<KeptJob>(path);
  if (!was) {  // nothing was begun, or it is damaged
    REPRISE_TRY(EmptyFolder((fs::path(directory_) / kRanksFolder).string(), kOwnFolder));
    REPRISE_TRY(EmptyFolder(SetDirectory(), kAnyFolder));
    return StoreKept(path, mine);
  }
  std::string differs;
  if (was->format != mine.format || was->version != mine.version || was->program != mine.program) {
    differs =
        fmt::format("begun by another program: version {} ({:.8}), and this is {} ({:.8})",
                    ShownText(was->version), ShownText(was->program), mine.version, mine.program);
  } else if (was->command != mine.command) {
    differs = fmt::format("begun by `reprise {}`", ShownText(was->command));
  } else {
    differs = OptionThatDiffers(*was, job);
  }
  return differs.empty() ? Status()
                         : UsageError(fmt::format(
                               "{}: {}; --resume goes on only with the same: give it what it was "
                               "begun with, or remove the directory to begin anew",
                               directory_, differs));
}

Status KeptWork::TidyRanks(const std::vector<std::string>& names) {
  const fs::path ranks = fs::path(directory_) / kRanksFolder;
  REPRISE_TRY(MakeFolder(ranks.string(), kOwnFolder));
  std::error_code error;
  // A run that was ended while it published.
  for (const std::string& name : names) {
    const fs::path moved = fs::path(SetDirectory()) / name;
    if (fs::is_regular_file(fs::symlink_status(moved, error)) &&
        !fs::exists(PartPath(name), error)) {
      fs::rename(moved, PartPath(name), error);
    }
  }
  REPRISE_TRY(EmptyFolder(SetDirectory(), kAnyFolder));
  std::set<std::string> expected;
  for (const std::string& name : names) {
    for (const std::string_view ending : {kPartEnding, kReadEnding, kMadeEnding}) {
      expected.insert(fmt::format("{}{}", name, ending));
    }
  }
  std::vector<fs::path> others;
  for (fs::directory_iterator it(ranks, error), end; !error && it != end; it.increment(error)) {
    if (expected.contains(it->path().filename().string())) {
      found_ = true;
    } else {
      others.push_back(it->path());
    }
  }
  for (const fs::path& path : others) {
    fs::remove_all(path, error);
  }
  return {};
}

std::optional<std::string> KeptWork::FindRead(const std::string& name,
                                              const std::string& key) const {
  std::optional<KeptRecord> record = LoadKept<KeptRecord>(RecordPath(name, kReadEnding));
  return record && record->key == key ? std::optional(std::move(record->bytes)) : std::nullopt;
}

Status KeptWork::KeepRead(const std::string& name, const std::string& key,
                          const std::string& bytes) const {
  return StoreKept(RecordPath(name, kReadEnding), KeptRecord{.key = key, .bytes = bytes});
}

std::optional<std::string> KeptWork::TakeUp(const std::string& name, const std::string& key) {
  std::optional<KeptRecord> record = LoadKept<KeptRecord>(RecordPath(name, kMadeEnding));
  if (!record || record->key != key) {
    return std::nullopt;
  }
  const Result<std::string> sum = ChecksumOf(PartPath(name));
  if (!sum || *sum != record->sum) {
    return std::nullopt;
  }
  const std::lock_guard lock(sums_->mutex);
  sums_->by_name[name] = *sum;
  return std::move(record->bytes);
}

Status KeptWork::KeepMade(const std::string& name, const std::string& key,
                          const std::string& bytes) {
  REPRISE_ASSIGN(const std::string sum, ChecksumOf(PartPath(name)));
  REPRISE_TRY(
      StoreKept(RecordPath(name, kMadeEnding), KeptRecord{.key = key, .sum = sum, .bytes = bytes}));
  const std::lock_guard lock(sums_->mutex);
  sums_->by_name[name] = sum;
  return {};
}

std::string KeptWork::SumOf(const std::string& name) const {
  const std::lock_guard lock(sums_->mutex);
  const auto found = sums_->by_name.find(name);
  return found == sums_->by_name.end() ? std::string() : found->second;
}

Status KeptWork::MoveParts(const std::map<std::string, std::string>& sums) const {
  for (const auto& [name, sum] : sums) {
    const std::string to = (fs::path(SetDirectory()) / name).string();
    if (std::rename(PartPath(name).c_str(), to.c_str()) != 0) {
      return KeptFailure(to, "cannot be written");
    }
  }
  return {};
}

void KeptWork::Remove() {
  std::error_code error;
  for (const char* const name : {kRanksFolder, kSetFolder, kKeptJobFile, kLockFile}) {
    fs::remove_all(fs::path(directory_) / name, error);
  }
  Leave();  // before the directory: NFS keeps a removed file of an open descriptor in it
  fs::remove(directory_, error);
}

}  // namespace reprise
