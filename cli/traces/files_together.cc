#include "cli/traces/files_together.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

namespace reprise {

namespace fs = std::filesystem;

Result<FilesTogether> FilesTogether::Create(std::string directory, bool force) {
  REPRISE_ASSIGN(TemporaryOutput folder, TemporaryOutput::Directory(directory));
  return FilesTogether(std::move(directory), force, std::move(folder));
}

Result<std::string> FilesTogether::Add(const std::string& name) {
  const std::string place = (fs::path(directory_) / name).string();
  std::error_code error;
  if (!force_ && fs::exists(fs::symlink_status(place, error))) {
    return UsageError(fmt::format("{} exists; give --force to replace it", place));
  }
  names_.push_back(name);
  return (fs::path(folder_.path()) / name).string();
}

Status FilesTogether::Publish() {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(directory_, error))) {
    return folder_.Publish();  // all in one step
  }
  fs::create_directories(directory_, error);
  for (const std::string& name : names_) {
    if (!error) {
      fs::rename(fs::path(folder_.path()) / name, fs::path(directory_) / name, error);
    }
  }
  return error ? EnvironmentError(
                     fmt::format("{}: cannot be written: {}", directory_, error.message()))
               : Status{};
}

}  // namespace reprise
