// GlobalMetadata ↔ TraceMetadata. Only et_schema sees this.
#pragma once

#include <optional>
#include <string>

#include "core/diagnostics.h"
#include "core/result.h"
#include "et_schema/foreign.h"
#include "et_schema/node.h"
#include "et_schema/raw_node.h"

namespace reprise {

struct MetadataExtras {
  std::int64_t format = 0;                  // 0: not written by Reprise
  std::optional<std::uint64_t> node_count;  // unset: not known
};
[[nodiscard]] TraceMetadata DecodeMetadata(const RawMetadata& raw, MetadataExtras& extras,
                                           Diagnostics& diagnostics);
// Without the count of nodes.
[[nodiscard]] TraceMetadata DecodeMetadata(const ForeignHeader& header, MetadataExtras& extras,
                                           Diagnostics& diagnostics);

// Appends the message after its length. Its last eight bytes are the count of nodes,
// kNodeCountUnknown: for the writer to set.
[[nodiscard]] Status EncodeMetadata(const TraceMetadata& metadata, std::string& out);

// The error of a file that a later version wrote.
[[nodiscard]] tl::unexpected<Error> LaterFormat(const std::string& path, std::int64_t format);

}  // namespace reprise
