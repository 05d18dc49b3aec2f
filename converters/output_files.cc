#include "converters/output_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

namespace reprise {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> Exists(const std::string& path) {
  return UsageError(fmt::format("{} exists; give --force to replace it", path));
}

bool BelongsToTraceSet(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".et") || name.ends_with(".et.gz") || name.ends_with(".et.zst") ||
         name == "comm_groups.json" || name == "comm_groups_info.json" ||
         name == "anonymized.json";  // else it would speak for the set that comes in its place
}

std::vector<fs::path> ListFiles(const std::string& directory) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    out.push_back(it->path());
  }
  return out;
}

}  // namespace

Result<OutputFiles> OutputFiles::Directory(const std::string& directory, const std::string& name,
                                           bool force) {
  std::error_code error;
  if (fs::exists(directory, error)) {
    if (!fs::is_directory(directory, error)) {
      return UsageError(fmt::format("{} exists and is no directory", directory));
    }
    if (!force && !fs::is_empty(directory, error)) {
      return Exists(directory);
    }
  }
  OutputFiles out;
  out.directory_ = fs::path(directory).lexically_normal().string();
  while (out.directory_.size() > 1 && out.directory_.ends_with('/')) {
    out.directory_.pop_back();
  }
  out.name_ = name;
  out.force_ = force;
  const std::string temporary = fmt::format("{}.tmp-{}", out.directory_, getpid());
  fs::create_directories(temporary, error);
  if (error) {
    return EnvironmentError(fmt::format("{}: cannot be created: {}", temporary, error.message()));
  }
  out.temporary_ = temporary;
  return out;
}

Result<OutputFiles> OutputFiles::OneFile(const std::string& path, bool force) {
  std::error_code error;
  if (!force && fs::exists(path, error)) {
    return Exists(path);
  }
  OutputFiles out;
  out.file_ = path;
  return out;
}

OutputFiles::~OutputFiles() {
  if (!temporary_.empty()) {
    std::error_code error;
    fs::remove_all(temporary_, error);
  }
}

std::string OutputFiles::NameOf(std::int32_t rank) const {
  return fmt::format("{}.{}.et", name_, rank);
}

std::string OutputFiles::Temporary(std::int32_t rank) const {
  return file_.empty() ? (fs::path(temporary_) / NameOf(rank)).string() : file_;
}

std::string OutputFiles::Final(std::int32_t rank) const {
  return file_.empty() ? (fs::path(directory_) / NameOf(rank)).string() : file_;
}

Status OutputFiles::Publish(const std::map<std::string, ProcessGroup>& groups) const {
  if (!file_.empty()) {
    return {};  // the writer has renamed it already
  }
  REPRISE_TRY(WriteGroups(temporary_, groups));
  std::error_code error;
  if (!fs::exists(directory_, error)) {
    fs::rename(temporary_, directory_, error);
  } else {
    for (const fs::path& old : ListFiles(directory_)) {
      if (BelongsToTraceSet(old)) {
        fs::remove(old, error);
      }
    }
    for (const fs::path& file : ListFiles(temporary_)) {
      fs::rename(file, fs::path(directory_) / file.filename(), error);
      if (error) {
        break;
      }
    }
  }
  if (error) {
    return EnvironmentError(fmt::format("{}: cannot be written: {}", directory_, error.message()));
  }
  return {};
}

}  // namespace reprise
