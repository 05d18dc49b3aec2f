#include "core/output_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "core/input_file.h"
#include "core/text.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

// core knows the names that et_schema and converters write (trace_set.h, rank_classes.h).
constexpr std::array<std::string_view, 9> kFilesOfSets = {
    "comm_groups.json", "comm_groups_info.json", "ranks.json",     "folded.json", kChecksumsFile,
    kJobFile,  // the last four would speak for the set that comes in its place
    kRescaledFile,      kTransformedFile,        "anonymized.json"};

constexpr std::array kOutputKinds = {OutputKind::kTraceSet, OutputKind::kRun,
                                     OutputKind::kUnpackedPackage};

// The beginning of a regular file; empty for anything else.
std::string Head(const fs::path& path) {
  constexpr std::size_t kHeadBytes = 4096;
  return FirstBytes(path, kHeadBytes);
}

bool IsRankDatabase(const std::string& name) {
  return name == "run.sqlite" || (name.starts_with("rank") && name.ends_with(".sqlite"));
}

// "run0", as `replay --repeat` names the runs of its directory.
bool IsRunFolderName(const std::string& name) {
  return name.starts_with("run") && IsNumber(std::string_view(name).substr(3));
}

std::string WithArticle(OutputKind kind) {
  return fmt::format("{} {}", kind == OutputKind::kUnpackedPackage ? "an" : "a", Name(kind));
}

std::set<OutputKind> KindsIn(const fs::path& directory) {
  std::set<OutputKind> kinds;
  const std::string marker = Head(directory / kChecksumsFile);
  for (const OutputKind kind : kOutputKinds) {
    if (marker.starts_with(MarkerLine(kind))) {
      kinds.insert(kind);
    }
  }
  const std::string manifest = Head(directory / "manifest.json");
  if (manifest.find("\"reprise-run-") != std::string::npos) {
    kinds.insert(OutputKind::kRun);
  }
  if (manifest.find("\"reprise-package-") != std::string::npos) {
    kinds = {OutputKind::kUnpackedPackage};  // a trace set with a manifest
  }
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (IsRankDatabase(name) || (IsRunFolderName(name) && it->is_directory(error) &&
                                 fs::exists(it->path() / "manifest.json", error))) {
      kinds.insert(OutputKind::kRun);
    }
    if (IsEtFileName(name) && !kinds.contains(OutputKind::kUnpackedPackage)) {
      kinds.insert(OutputKind::kTraceSet);
    }
  }
  return kinds;
}

}  // namespace

bool IsEtFileName(std::string_view name) {
  return name.ends_with(".et") || name.ends_with(".et.gz") || name.ends_with(".et.zst");
}

std::string MarkerLine(OutputKind kind) { return fmt::format("# reprise {} 1\n", Name(kind)); }

Status CheckIsAnother(const std::string& set, const std::string& result) {
  std::error_code error;
  return fs::equivalent(set, result, error)
             ? UsageError(fmt::format("{} is the set itself; give another directory for the result",
                                      result))
             : Status();
}

Status CheckReplaceable(const std::string& directory, OutputKind kind, bool force) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(directory, error))) {
    return {};
  }
  if (!fs::is_directory(directory, error)) {
    return UsageError(fmt::format("{} exists and is no directory; choose another -o", directory));
  }
  if (fs::is_empty(directory, error)) {
    return {};
  }
  if (!force) {
    return UsageError(
        fmt::format("{} exists and is not empty; choose another -o, or give --force "
                    "to replace it",
                    directory));
  }
  const std::set<OutputKind> kinds = KindsIn(directory);
  if (kinds.empty()) {
    return UsageError(fmt::format(
        "{} holds no {}; --force replaces nothing else: choose another -o, or remove it yourself",
        directory, Name(kind)));
  }
  for (const OutputKind other : kinds) {
    if (other != kind) {
      return UsageError(
          fmt::format("{} holds {}{}; --force replaces {} only: choose another -o, or remove it "
                      "yourself",
                      directory, WithArticle(other),
                      kinds.contains(kind) ? fmt::format(" beside the {}", Name(kind)) : "",
                      WithArticle(kind)));
    }
  }
  return {};
}

bool IsTraceSetFile(std::string_view name) {
  return IsEtFileName(name) || name.ends_with(".times") ||
         std::find(kFilesOfSets.begin(), kFilesOfSets.end(), name) != kFilesOfSets.end();
}

}  // namespace reprise
