// Finds the captures of a directory.
#pragma once

#include <string>
#include <vector>

#include "converters/pytorch/rank_capture.h"
#include "core/result.h"

namespace reprise::pytorch {

// rank<N>.et.json[.gz] with rank<N>.kineto.json[.gz] and perhaps rank<N>.meta.json, by rank. Bad
// input if there are none, if one of a pair is missing, or a rank in between.
[[nodiscard]] Result<std::vector<RankFiles>> FindCaptures(const std::string& directory);

// Whether the directory holds any such file, or the file is one of the two formats.
[[nodiscard]] bool LooksLikeCapture(const std::string& path);

}  // namespace reprise::pytorch
