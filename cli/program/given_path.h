// What a path on the command line is, and which command fits it where another kind is expected.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace reprise {

enum class PathKind : std::uint8_t {
  kMissing,
  kCapture,      // a directory of host traces and Kineto files
  kCaptureFile,  // one of those
  kTraceSet,     // a directory of <name>.<rank>.et files
  kTraceFile,    // one of those
  kRun,          // a directory that replay or monitor wrote
  kRunFile,      // a file of one
  kRuns,         // a directory of runs
  kSweep,        // a directory that sweep wrote
  kPackage,      // a file that pack wrote
  kPage,         // .html
  kOther,
};

// By names alone, besides the first bytes of a package: nothing is read through.
[[nodiscard]] PathKind FindPathKind(const std::string& path);

// The directories in `path` that are of this kind, in order of their names.
[[nodiscard]] std::vector<std::string> DirectoriesOfKind(const std::string& path, PathKind kind);

// "a trace set".
[[nodiscard]] std::string_view Name(PathKind kind);

// The paths in "LABEL=RUN,RUN" of compare; a path that exists as it stands is taken as it stands,
// for it may have '=' and ',' in its name.
[[nodiscard]] std::vector<std::string> PathsIn(const std::string& text);

// Bad input where a path given to `command` is known to be of a kind that it does not take; the
// message names the command that fits. Success for what is missing or unknown: the command itself
// says more about those.
[[nodiscard]] Status CheckGivenPaths(const CLI::App& command);

}  // namespace reprise
