// Finds the captures of a directory.
#pragma once

#include <string>
#include <vector>

#include "converters/pytorch/files/capture_names.h"
#include "converters/pytorch/files/rank_files.h"
#include "core/diagnostics.h"
#include "core/result.h"

namespace reprise::pytorch {

// What a user says where names and contents do not.
struct CaptureChoice {
  std::string rank_pattern;  // regular expression whose group is the rank in a name
  std::string name;          // of one of several captures
};

// By rank: rank<N>.et.json with rank<N>.kineto.json and perhaps rank<N>.meta.json, each plain, .gz
// or .zst. Only where those leave a kind of file missing, other JSON files of the directory, and of
// kFoldersDeep folders in it, are looked into: their content shows what they are, their rank and
// process, else names say the rank (file_ranks.h). Other profilers' files are Kineto files of
// one or several ranks (export_ranks.h).
//
// Host traces alone or Kineto files alone are a capture too, if all ranks have the same: `kineto`
// or `host` of every RankFiles is empty then. Bad input if there are none, if a file is missing on
// some ranks only, a rank in between is missing, or two files claim one place; where there are
// several captures (separate_captures.h) and none is chosen, their names, times and sizes.
// Files of captures that did not end are counted (`unfinished_capture_file`), and named where there
// is nothing else.
[[nodiscard]] Result<std::vector<RankFiles>> FindCaptures(const std::string& directory,
                                                          const CaptureChoice& choice,
                                                          Diagnostics& diagnostics);

inline constexpr int kFoldersDeep = 4;

// The ranks of one Kineto file: of another profiler's as many as it has processes that used a GPU.
[[nodiscard]] Result<std::vector<RankFiles>> RanksOfFile(const std::string& path);

// What a file is, by its first bytes.
[[nodiscard]] CaptureKind KindOf(const std::string& path);

// Whether the directory itself holds any such file, or the file is one of the two formats.
[[nodiscard]] bool LooksLikeCapture(const std::string& path);

}  // namespace reprise::pytorch
