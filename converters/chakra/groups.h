// Which process group each transfer is of, over all ranks; sizes, roots and peers that follow.
#pragma once

#include <map>
#include <span>
#include <string>

#include "converters/chakra/rank_trace.h"
#include "et_schema/trace_set.h"

namespace reprise::chakra {

// `given`: what the file of groups lists, by name. A name that neither it nor a rank's own list has
// is the group of those ranks that use it (`group_members_inferred`). A transfer without a name is
// of all ranks where a simulator's trace says so (`group_of_all_assumed`), else of an unknown group
// (`group_unknown`), which replay refuses. Ids become what simulators take: "0" all ranks, the
// others whole numbers from 1; a name that is none of these becomes the description.
[[nodiscard]] std::map<std::string, ProcessGroup> AssignGroups(
    std::span<RankTrace> traces, const std::map<std::string, ProcessGroup>& given,
    std::int32_t world_size, Diagnostics& diagnostics);

}  // namespace reprise::chakra
