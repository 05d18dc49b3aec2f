#include "converters/pytorch/nsight/nsight_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

namespace reprise::pytorch {
namespace {

Result<std::int64_t> FirstNumber(NsightTables& tables, std::string_view table,
                                 std::string_view column, std::int64_t otherwise) {
  REPRISE_ASSIGN(Statement row, tables.Select(table, {column}));
  REPRISE_ASSIGN(const bool found, row.Next());
  return found && row.StoredType(0) == StoredAs::kInteger ? row.Int(0) : otherwise;
}

Result<std::string> HostOf(NsightTables& tables) {
  REPRISE_ASSIGN(Statement row,
                 tables.Select("TARGET_INFO_SYSTEM_ENV", {"value"}, "name = 'Hostname'"));
  REPRISE_ASSIGN(const bool found, row.Next());
  return found ? std::string(row.View(0)) : std::string();
}

// The lowest device of each process.
Result<std::map<std::int64_t, std::int64_t>> ProcessesOf(NsightTables& tables) {
  std::map<std::int64_t, std::int64_t> devices;
  for (const std::string_view table :
       {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"}) {
    REPRISE_ASSIGN(Statement rows, tables.Select(table, {"globalPid", "deviceId"}));
    for (;;) {
      REPRISE_ASSIGN(const bool more, rows.Next());
      if (!more) {
        break;
      }
      const bool numbered = rows.StoredType(0) == StoredAs::kInteger;
      const std::int64_t device = rows.Int(1);
      const auto [at, fresh] = devices.try_emplace(numbered ? rows.Int(0) : -1, device);
      at->second = std::min(at->second, device);
    }
  }
  return devices;
}

// Where no two processes claim one rank.
void SetRanks(NsightFile& file) {
  const auto largest = std::ranges::max_element(file.communicators, {},
                                                [](const auto& one) { return one.second.members; });
  if (largest == file.communicators.end() || largest->second.members > INT32_MAX) {
    return;
  }
  std::map<std::int64_t, std::int64_t> ranks;  // by process
  std::set<std::int64_t> taken;
  for (const auto& [identity, communicator] : file.communicators) {
    for (const auto& [rank, process] : communicator.processes) {
      if (communicator.members == largest->second.members &&
          ranks.try_emplace(process, rank).second && !taken.insert(rank).second) {
        return;
      }
    }
  }
  for (NsightProcess& process : file.processes) {
    if (const auto found = ranks.find(process.global); found != ranks.end()) {
      process.rank = static_cast<std::int32_t>(found->second);
      process.world_size = static_cast<std::int32_t>(largest->second.members);
    }
  }
}

}  // namespace

Result<NsightFile> DescribeNsightFile(NsightTables& tables) {
  NsightFile out;
  REPRISE_ASSIGN(out.host, HostOf(tables));
  REPRISE_ASSIGN(out.start_ns,
                 FirstNumber(tables, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs", -1));
  REPRISE_ASSIGN(const auto devices, ProcessesOf(tables));
  if (devices.empty()) {
    return BadInput(fmt::format(
        "{}: an export of Nsight Systems without a kernel on a GPU: profile with `nsys profile "
        "--trace=cuda,nvtx`, while the job computes",
        tables.path()));
  }
  for (const auto& [global, device] : devices) {
    out.processes.push_back(
        {.global = global, .process = global < 0 ? -1 : LocalProcess(global), .device = device});
  }
  REPRISE_ASSIGN(out.communicators, FindCommunicators(tables));
  SetRanks(out);
  std::ranges::sort(out.processes, {}, [](const NsightProcess& one) {
    return std::tuple(one.rank, one.device, one.global);
  });
  return out;
}

}  // namespace reprise::pytorch
