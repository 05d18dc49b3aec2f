#include "converters/pytorch/nsight/nccl_arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "converters/pytorch/host/process_groups.h"

namespace reprise::pytorch {
namespace {

// How many there are; 0: not known.
std::int64_t AddMembers(std::int64_t identity, const NsightFile& file, EventArguments& args) {
  const auto found = file.communicators.find(identity);
  if (found == file.communicators.end()) {
    return 0;
  }
  const NcclCommunicator& communicator = found->second;
  args.Add("Group size", communicator.members);
  std::vector<std::int32_t> ranks;
  for (const auto& [rank, global] : communicator.processes) {
    const auto process = std::ranges::find(file.processes, global, &NsightProcess::global);
    if (process != file.processes.end() && process->rank >= 0) {
      ranks.push_back(process->rank);
    }
  }
  if (std::ssize(ranks) == communicator.members) {
    args.Add("Process Group Ranks", fmt::format("[{}]", fmt::join(ranks, ", ")));
  }
  return communicator.members;
}

}  // namespace

void AddNcclArguments(CommKind kind, const NcclPayload& payload, const NsightFile& file,
                      EventArguments& args) {
  args.Add("Collective name", Name(kind));
  const bool reduces =
      kind == CommKind::kAllReduce || kind == CommKind::kReduce || kind == CommKind::kReduceScatter;
  if (!reduces) {
    args.Add("dtype", "Byte");  // what is reduced, the kernel's name says
  }
  std::int64_t members = 0;
  if (payload.communicator) {
    args.Add("Process Group Name", fmt::format("{}{:016x}", kCommunicatorPrefix,
                                               static_cast<std::uint64_t>(*payload.communicator)));
    members = AddMembers(*payload.communicator, file, args);
  }
  if (payload.bytes && kind == CommKind::kAllToAll) {
    if (members > 0 && *payload.bytes <= INT64_MAX / members) {  // of one block
      args.Add("In msg bytes", *payload.bytes * members);
    }
  } else if (payload.bytes) {
    const bool received =
        kind == CommKind::kReduceScatter || kind == CommKind::kScatter || kind == CommKind::kRecv;
    args.Add(received ? "Out msg bytes" : "In msg bytes", *payload.bytes);
  }
  if (const auto rank = payload.peer ? payload.peer : payload.root) {
    args.Add("Rank", *rank);
  }
}

}  // namespace reprise::pytorch
