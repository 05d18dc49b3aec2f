// What chakra_trace_link writes: PyTorch's host trace as JSON, with times on its operations and
// with the device's operations as nodes of their own.
#pragma once

#include "converters/chakra/rank_trace.h"
#include "converters/text_file.h"
#include "core/result.h"

namespace reprise::chakra {

// Host operations become what they are in a PyTorch capture: composites leave no node, work is one
// node from its start to its end with what it calls inside, time between is host delay. A kernel
// waits for the piece of its operation before it (the launching calls are not in the file: a piece
// is cut where a kernel starts inside it), for its stream, and where the file says so for others.
// Operations without times (`operation_without_time`) leave no node.
[[nodiscard]] Status ReadLinked(const TextFile& file, RankTrace& trace);

}  // namespace reprise::chakra
