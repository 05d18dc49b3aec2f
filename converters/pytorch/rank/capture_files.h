// Finds the captures of a directory.
#pragma once

#include <string>
#include <vector>

#include "converters/pytorch/rank/capture_names.h"
#include "converters/pytorch/rank/rank_capture.h"
#include "core/diagnostics.h"
#include "core/result.h"

namespace reprise::pytorch {

// By rank: rank<N>.et.json with rank<N>.kineto.json and perhaps rank<N>.meta.json, each plain, .gz
// or .zst. Only where those leave a kind of file missing, other JSON files of the directory are
// looked into: their content shows what they are, their rank by "distributedInfo" or by their
// name (capture_names.h); one file of a kind needs none.
//
// Host traces alone or Kineto files alone are a capture too, if all ranks have the same: `kineto`
// or `host` of every RankFiles is empty then. Bad input if there are none, if a file is missing on
// some ranks only, a rank in between is missing, or two files claim one place.
// Files of captures that did not end are counted (`unfinished_capture_file`), and named where there
// is nothing else.
[[nodiscard]] Result<std::vector<RankFiles>> FindCaptures(const std::string& directory,
                                                          Diagnostics& diagnostics);

// What a file is, by its first bytes.
[[nodiscard]] CaptureKind KindOf(const std::string& path);

// Whether the directory holds any such file, or the file is one of the two formats.
[[nodiscard]] bool LooksLikeCapture(const std::string& path);

}  // namespace reprise::pytorch
