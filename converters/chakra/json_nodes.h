// Chakra's messages as JSON: what its jsonizer prints (one object after the other), an array of the
// same objects, {"nodes": […]}, or the flat {"workload_graph": […]} that its feeder takes.
#pragma once

#include <vector>

#include "converters/text_file.h"
#include "core/diagnostics.h"
#include "core/result.h"
#include "et_schema/foreign.h"

namespace reprise::chakra {

struct JsonTrace {
  ForeignHeader header;
  std::vector<ForeignNode> nodes;
};
// Keys in any of protobuf's spellings (dataDeps, data_deps), numbers as numbers or as text. Bad
// input where the text is not JSON or a node's id or dependencies are no numbers; other values of
// the wrong type count as `json_value_type` and are passed over.
[[nodiscard]] Result<JsonTrace> ReadJsonTrace(const TextFile& file, Diagnostics& diagnostics);

}  // namespace reprise::chakra
