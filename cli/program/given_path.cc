#include "cli/program/given_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <vector>

#include "core/input_file.h"
#include "core/output_kind.h"
#include "core/text.h"
#include "predict/machine/catalogue.h"
#include "predict/sweep/run.h"
#include "report/run/schema.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

bool EndsWithAny(const std::string& name, std::initializer_list<std::string_view> endings) {
  return std::ranges::any_of(endings,
                             [&name](std::string_view ending) { return name.ends_with(ending); });
}

bool IsCaptureFileName(const std::string& name) {
  return EndsWithAny(name, {".json", ".json.gz", ".json.zst"}) &&
         (name.find(".et.json") != std::string::npos || name.find("kineto") != std::string::npos ||
          name.find(".pt.trace.json") != std::string::npos);
}

bool IsRunFileName(const std::string& name) {
  return name == "manifest.json" || name.starts_with("run.sqlite") ||
         (name.starts_with("rank") && name.find(".sqlite") != std::string::npos) ||
         RankOfColumns(name) || RankOfSums(name);
}

// An unpacked trace set has a manifest of its own.
bool IsRunDirectory(const fs::path& path) {
  std::error_code error;
  return fs::exists(path / "manifest.json", error) &&
         (fs::exists(path / "run.sqlite", error) || fs::exists(path / "rank0.sqlite", error));
}

// A tar file in a zstd frame, or one that says in its name what it is.
bool IsPackageFile(const std::string& path) {
  if (path.ends_with(".reprise")) {
    return true;
  }
  if (!EndsWithAny(path, {".tar.zst", ".tzst"})) {
    return false;
  }
  return FirstBytes(path, kZstdMagic.size()) == kZstdMagic;
}

PathKind KindOfDirectory(const std::string& path) {
  if (IsRunDirectory(path)) {
    return PathKind::kRun;
  }
  std::error_code error;
  if (fs::exists(fs::path(path) / kSweepRowsFile, error)) {
    return PathKind::kSweep;
  }
  PathKind found = PathKind::kOther;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (IsEtFileName(name)) {
      return PathKind::kTraceSet;
    }
    if (IsRunFileName(name)) {
      found = PathKind::kRun;  // was killed before its manifest
    } else if (IsCaptureFileName(name)) {
      found = PathKind::kCapture;
    } else if (found == PathKind::kOther && IsRunDirectory(it->path())) {
      found = PathKind::kRuns;
    }
  }
  return found;
}

std::string FolderOf(const std::string& file) {
  const std::string parent = fs::path(file).parent_path().string();
  return parent.empty() ? "." : parent;
}

// What a command takes, the kind that it is made for first.
struct TakenPaths {
  std::string_view command;
  std::vector<PathKind> kinds;
};

const std::vector<TakenPaths>& AllTakenPaths() {
  using enum PathKind;
  static const std::vector<TakenPaths> taken = {
      {"convert", {kCapture, kCaptureFile, kTraceFile, kTraceSet}},
      {"anonymize", {kTraceSet, kTraceFile}},
      {"audit", {kTraceSet, kTraceFile, kRun}},
      {"pack", {kTraceSet, kTraceFile}},
      {"unpack", {kPackage}},
      {"validate", {kTraceSet, kTraceFile}},
      {"stats", {kTraceSet, kTraceFile}},
      {"export", {kTraceSet, kTraceFile, kRun}},
      {"replay", {kTraceSet, kTraceFile}},
      {"simulate", {kTraceSet, kTraceFile}},
      {"calibrate", {kTraceSet, kCapture, kCaptureFile}},
      {"report", {kRun, kRuns, kTraceSet, kTraceFile}},
      {"compare", {kRun, kRuns, kTraceSet, kTraceFile, kSweep}},
  };
  return taken;
}

// How to get from what was given to what is wanted.
std::string WayOn(const std::string& path, PathKind given, PathKind wanted) {
  const bool to_run = wanted == PathKind::kRun;
  switch (given) {
    case PathKind::kTraceSet:
      return fmt::format("pack it first: reprise pack {} -o {}.reprise", path,
                         fs::path(path).lexically_normal().filename().string());
    case PathKind::kTraceFile:
      return fmt::format("give the directory of its trace set: {}", FolderOf(path));
    case PathKind::kCapture:
    case PathKind::kCaptureFile:
      return fmt::format("convert it first: reprise convert {} -o trace{}",
                         given == PathKind::kCapture ? path : FolderOf(path),
                         to_run ? "; then replay the trace" : "");
    case PathKind::kRun:
      return fmt::format("report on it: reprise report {}", path);
    case PathKind::kRuns:
      return fmt::format("compare its runs: reprise compare {0}/A {0}/B", path);
    case PathKind::kSweep:
      return fmt::format("a browser shows it: {}/index.html", path);
    case PathKind::kRunFile:
      return fmt::format("give the run's directory: {}", FolderOf(path));
    case PathKind::kPackage:
      return fmt::format("unpack it first: reprise unpack {} -o trace", path);
    case PathKind::kPage:
      return "a browser shows it; give the run that it was made from";
    case PathKind::kMissing:
    case PathKind::kOther:
      break;
  }
  return {};
}

Status CheckPath(const std::string& path, const TakenPaths& taken) {
  const PathKind kind = FindPathKind(path);
  const PathKind wanted = taken.kinds.front();
  if (std::ranges::find(taken.kinds, kind) != taken.kinds.end() || kind == PathKind::kMissing) {
    return {};
  }
  std::error_code error;
  const bool above = kind == PathKind::kRuns || kind == PathKind::kOther;
  // Captures lie in folders of many forms, which convert knows.
  if (above && wanted != PathKind::kCapture && fs::is_directory(path, error)) {
    // A common mistake is a directory one level too high.
    if (const auto below = DirectoriesOfKind(path, wanted); !below.empty()) {
      return BadInput(
          fmt::format("{} is not {}, but {} is; give that", path, Name(wanted), below.front()));
    }
  }
  if (kind == PathKind::kOther) {
    return {};
  }
  return BadInput(fmt::format("{} is {}, not {}; {}", path, Name(kind), Name(wanted),
                              WayOn(path, kind, wanted)));
}

// Machines are names or files, besides `recorded`.
Status CheckMachinePath(const CLI::App& command, const std::string& option_name) {
  const CLI::Option* const option = command.get_option_no_throw(option_name);
  for (const std::string& path : option != nullptr ? option->results() : CLI::results_t{}) {
    const PathKind kind = FindPathKind(path);
    std::error_code error;
    const bool directory = fs::is_directory(path, error);
    const bool builtin = path.find('/') == std::string::npos && LoadMachine(path).has_value();
    if (builtin || kind == PathKind::kMissing || (kind == PathKind::kOther && !directory)) {
      continue;
    }
    return BadInput(fmt::format(
        "{} {} is {}, not a machine; give a name (`reprise list machines`) or a machine file, "
        "NAME.json (docs/machine_format.md)",
        option_name, path, kind == PathKind::kOther ? "a directory" : Name(kind)));
  }
  return {};
}

}  // namespace

PathKind FindPathKind(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    return PathKind::kMissing;
  }
  if (fs::is_directory(path, error)) {
    return KindOfDirectory(path);
  }
  const std::string name = fs::path(path).filename().string();
  if (IsEtFileName(name)) {
    return PathKind::kTraceFile;
  }
  if (IsRunFileName(name) && IsRunDirectory(FolderOf(path))) {
    return PathKind::kRunFile;
  }
  if (IsCaptureFileName(name)) {
    return PathKind::kCaptureFile;
  }
  return name.ends_with(".html") ? PathKind::kPage
         : IsPackageFile(path)   ? PathKind::kPackage
                                 : PathKind::kOther;
}

std::vector<std::string> DirectoriesOfKind(const std::string& path, PathKind kind) {
  std::vector<std::string> found;
  std::error_code error, of_entry;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    if (it->is_directory(of_entry) && FindPathKind(it->path().string()) == kind) {
      found.push_back(it->path().string());
    }
  }
  std::ranges::sort(found);
  return found;
}

std::string_view Name(PathKind kind) {
  constexpr std::array<std::string_view, 12> kNames = {
      "missing",      "a capture", "a file of a capture", "a trace set",
      "a trace file", "a run",     "a file of a run",     "a directory of runs",
      "a sweep",      "a package", "an HTML page",        "something else"};
  static_assert(kNames.size() == static_cast<std::size_t>(PathKind::kOther) + 1);
  return kNames.at(static_cast<std::size_t>(kind));
}

std::vector<std::string> PathsIn(const std::string& text) {
  std::error_code error;
  if (fs::exists(text, error)) {
    return {text};
  }
  const std::string list = text.substr(text.find('=') + 1);  // all of it where there is none
  if (fs::exists(list, error)) {
    return {list};
  }
  const std::vector<std::string_view> parts = SplitText(list, ',');
  return {parts.begin(), parts.end()};
}

Status CheckGivenPaths(const CLI::App& command) {
  for (const char* const option : {"--machine", "--captured-on"}) {
    REPRISE_TRY(CheckMachinePath(command, option));
  }
  const auto taken = std::ranges::find_if(
      AllTakenPaths(), [&](const TakenPaths& of) { return of.command == command.get_name(); });
  if (taken == AllTakenPaths().end()) {
    return {};
  }
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional() || option->get_name(/*positional=*/true) == "output") {
      continue;
    }
    for (const std::string& text : option->results()) {
      for (const std::string& path : PathsIn(text)) {
        REPRISE_TRY(CheckPath(path, *taken));
      }
    }
  }
  return {};
}

}  // namespace reprise
