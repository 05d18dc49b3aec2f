// A trace as a timeline: ranks side by side on rank 0's clock, one track per thread, stream and
// sequence of transfers, an arrow per dependency that is more than order within those.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "core/timeline.h"
#include "et_schema/graph.h"
#include "et_schema/trace_set.h"

namespace reprise {

// Of one step only, or of everything recorded. Dependencies on what is left out have no arrow.
// A wait lasts from its call to its end, as recorded; how much of that was left after its latest
// dependency is its annotation `remaining_ns`.
[[nodiscard]] Result<Timeline> TimelineOfTrace(std::span<const Graph* const> graphs,
                                               const std::map<std::string, ProcessGroup>& groups,
                                               std::optional<std::int32_t> step);

}  // namespace reprise
