// A set's files with another number of layers in the model.
#pragma once

#include <string>

#include "core/result.h"
#include "et_schema/trace_set.h"
#include "predict/rescale/repeated_set.h"
#include "predict/rescale/rescale.h"

namespace reprise {

// Writes files, and groups or classes, into a directory that is there. What a generated set says of
// its job is left out: parameters, FLOPs and memory of another model do not follow from the nodes.
// Bad input: layers that are not found (FindLayers), not as many on each rank; numbers that do not
// divide among a pipeline's stages; lists and buffers as LayerTensors has it; a result that would
// not replay.
[[nodiscard]] Result<RepeatSummary> WriteLayers(const TraceSet& set, const RescaleRequest& request,
                                                const std::string& directory);

}  // namespace reprise
