// `.et` files as the JSON that Chakra's feeder takes.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "core/result.h"

namespace reprise {

// {"workload_graph": [{…}, …]}, one node a line, in the order of the file: "Id", "Name",
// "NodeType", "ctrlDeps", "data_deps", "runtime" (µs), and as members the attributes that the
// feeder looks for. Everything else is there too, under protobuf's names for JSON: "inputs",
// "outputs", "startTimeMicros", "attr", and the header as "metadata". Whatever the messages hold is
// written, known to Reprise or not. Returns the number of nodes; on failure `out` holds incomplete
// JSON.
[[nodiscard]] Result<std::uint64_t> WriteChakraJson(const std::string& et_path, std::ostream& out);

}  // namespace reprise
