// Writing one rank of a conversion.
#pragma once

#include <vector>

#include "converters/converter.h"
#include "converters/output_files.h"
#include "core/result.h"
#include "et_schema/node.h"

namespace reprise {

// To `output`'s temporary place of that rank; recorded_operations is left to the caller.
[[nodiscard]] Result<ConvertedRank> WriteTrace(const std::vector<Node>& nodes,
                                               const TraceMetadata& metadata,
                                               const OutputFiles& output);

}  // namespace reprise
