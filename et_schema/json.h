// A trace as JSON, for people and other programs. One direction: what is read is `.et`.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "core/result.h"
#include "et_schema/link_report.h"
#include "et_schema/trace_set.h"

namespace reprise {

// {"metadata": {…}, "nodes": [{…}, …]}, one node a line, keys as in docs/et_format.md; the nodes of
// one step, or all (dependencies on nodes of other steps stay). Streams: memory does not grow with
// the file. If reading fails half-way, `out` holds incomplete JSON and the error is returned; a
// write error of `out` is returned too. The value: how many nodes.
[[nodiscard]] Result<std::uint64_t> WriteJson(const std::string& et_path, std::ostream& out,
                                              std::optional<std::int32_t> step = std::nullopt);

// {"name": …, "world_size": …, "groups": {…}, "ranks": [the above for each rank, …]}
[[nodiscard]] Result<std::uint64_t> WriteJson(const TraceSet& set, std::ostream& out,
                                              std::optional<std::int32_t> step = std::nullopt);

// How a rank was linked; null if nothing was.
[[nodiscard]] nlohmann::ordered_json ToJson(const LinkReport& link);
// Null where the capture says nothing of it.
[[nodiscard]] nlohmann::ordered_json ToJson(const RecordedMachine& machine);
// By the names in files without "placement_"; null where nothing is known.
[[nodiscard]] nlohmann::ordered_json ToJson(const RankPlacement& placement);

}  // namespace reprise
