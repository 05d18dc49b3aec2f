// One rank's timeline → nodes → a file.
#pragma once

#include <string>

#include "converters/converter.h"
#include "converters/pytorch/edges/rank_timeline.h"
#include "converters/pytorch/rank/rank_capture.h"
#include "core/result.h"

namespace reprise::pytorch {

// Node ids: the host trace's where a node stands for one of its records, above its highest for
// waits and the second parts of calls. Moves the arguments out of `rank`; work gets what it costs
// from `costs`. On success the file is complete under its name; on failure nothing is left.
// `mem_nodes`: ConvertRequest::mem_nodes.
[[nodiscard]] Result<ConvertedRank> WriteRank(RankCapture& rank, Timeline& timeline,
                                              TraceMetadata metadata, const CostTable& costs,
                                              const std::string& path, bool mem_nodes);

}  // namespace reprise::pytorch
