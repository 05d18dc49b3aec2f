// Messages as they stand in a file, each preceded by its length. Only et_schema sees this.
#pragma once

#include <string>

#include "core/result.h"
#include "et_schema/node.h"

namespace reprise {

// Appends. The last eight bytes are the count of nodes, kNodeCountUnknown: for the writer to set.
[[nodiscard]] Status EncodeMetadata(const TraceMetadata& metadata, std::string& out);

}  // namespace reprise
