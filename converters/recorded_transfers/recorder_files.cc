#include "converters/recorded_transfers/recorder_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/input_file.h"
#include "core/text.h"

namespace reprise::recorded_transfers {
namespace {

namespace fs = std::filesystem;

// "nccl_trace_rank_12" → "nccl_trace_rank_#".
std::string FormOfName(const std::string& path) {
  std::string form;
  for (const char c : fs::path(path).filename().string()) {
    if (!IsDigit(c)) {
      form += c;
    } else if (!form.ends_with('#')) {
      form += '#';
    }
  }
  return form;
}

}  // namespace

bool LooksLike(const std::string& path, bool (*is_ours)(const std::string& path)) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    return fs::is_regular_file(path, error) && is_ours(path);
  }
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    std::error_code of_entry;
    if (it->is_regular_file(of_entry) && is_ours(it->path().string())) {
      return true;
    }
  }
  return false;
}

Result<std::vector<std::string>> FindFiles(const ConvertRequest& request,
                                           bool (*is_ours)(const std::string& path),
                                           std::string_view expected) {
  if (!request.input_file.empty()) {
    return std::vector{request.input_file};
  }
  const std::string& directory = request.input_directory;
  if (directory.empty()) {
    return UsageError("give a recorder's file or a directory of them");
  }
  std::vector<std::string> ours, others;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    std::error_code of_entry;
    if (it->is_regular_file(of_entry)) {
      const std::string path = it->path().string();
      (is_ours(path) ? ours : others).push_back(path);
    }
  }
  if (error) {
    return CannotList(directory, error);
  }
  if (ours.empty()) {
    return BadInput(fmt::format("{}: expected {}; none is there", directory, expected));
  }
  std::set<std::string> forms;
  for (const std::string& path : ours) {
    forms.insert(FormOfName(path));
  }
  for (const std::string& path : others) {
    if (forms.contains(FormOfName(path))) {
      ours.push_back(path);
    }
  }
  if (ours.size() > CurrentInputLimits().ranks) {
    return OverLimit(directory, fmt::format("{} files", ours.size()), "ranks");
  }
  std::ranges::sort(ours);
  return ours;
}

}  // namespace reprise::recorded_transfers
