// Process groups as captures describe them, one rank's view.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::pytorch {

// Names of groups that are NCCL's communicators by their identity, which all members share, begin
// with it: "nccl 00c0ffee00c0ffee".
inline constexpr std::string_view kCommunicatorPrefix = "nccl ";

struct GroupRecord {
  std::string name;                 // differs between ranks for one and the same group
  std::string description;          // "default_pg", "tp"; equal on all members
  std::vector<std::int32_t> ranks;  // global ranks in group order; empty: all, or unknown
  std::int32_t size = -1;           // -1: not recorded
  bool all = false;                 // the record says that all ranks are members
};

// The JSON list in `## process_group:init ##` (host trace) or `distributedInfo.pg_config` (Kineto):
//   [{"pg_name": "0", "pg_desc": "default_pg", "ranks": [], "group_size": 4, …}]
// Empty on anything else.
[[nodiscard]] std::vector<GroupRecord> ParseGroupRecords(std::string_view json);

// "[0, 2, 4]" → numbers. Kineto shortens long lists with "...": then `cut` is set, and there are
// none. Stops at what is no number.
[[nodiscard]] std::vector<std::int64_t> ParseIntegerList(std::string_view text, bool& cut);

}  // namespace reprise::pytorch
