// Names of the files of process groups. Only et_schema sees this; what reads and writes them is in
// et_schema/trace_set.h.
#pragma once

namespace reprise {

inline constexpr const char* kGroupsFile = "comm_groups.json";
inline constexpr const char* kGroupsInfoFile = "comm_groups_info.json";

}  // namespace reprise
