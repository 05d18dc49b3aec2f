// Micro-batches found in a rank's trace: parts of a step that come again, one after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "et_schema/graph.h"
#include "predict/rescale/repetition.h"

namespace reprise {

struct MicroBatches {
  ProgramOrder order;
  // A part has the passes of one micro-batch, or of as many as come again together: forward and
  // backward, not always of the same one.
  // By place: of each step one, or one of its forward passes and one of its backward passes.
  std::vector<RepeatedParts> parts;
  // All forward passes of a step come before its backward ones, as in GPipe.
  bool forward_first = false;
  // In a step: how often what a part does is done, within the part and before and after it.
  std::int64_t count = 0;
  // Micro-batches that a part has: more than 1 where a rank has several chunks of layers, which
  // take turns at as many.
  std::int64_t together = 1;
};

// Bad input, without the file's name: no part comes again that has a forward and a backward pass,
// or either with the same weights; or steps differ.
[[nodiscard]] Result<MicroBatches> FindMicroBatches(const Graph& graph);

}  // namespace reprise
