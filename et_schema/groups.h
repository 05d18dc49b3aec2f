// comm_groups.json and comm_groups_info.json. Only et_schema sees this; WriteGroups is in
// et_schema/trace_set.h.
#pragma once

#include <map>
#include <string>

#include "core/result.h"
#include "et_schema/trace_set.h"

namespace reprise {

inline constexpr const char* kGroupsFile = "comm_groups.json";
inline constexpr const char* kGroupsInfoFile = "comm_groups_info.json";

// Empty if the directory has no comm_groups.json.
[[nodiscard]] Result<std::map<std::string, ProcessGroup>> ReadGroups(const std::string& directory);

}  // namespace reprise
