// Any bytes as transfers of four ranks, over the full range of times: the search for their groups
// ends, and names a group that there is, or none.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

#include "converters/pytorch/groups/group_inference.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace pytorch = reprise::pytorch;
  constexpr std::size_t kRecordBytes = 3 + 2 * sizeof(std::int64_t);
  constexpr std::size_t kMaxOfRank = 32;
  constexpr std::int32_t kRanks = 4;
  std::deque<pytorch::CommArguments> arguments;
  std::vector<std::vector<pytorch::InferenceTransfer>> by_rank(kRanks);
  for (; size >= kRecordBytes; data += kRecordBytes, size -= kRecordBytes) {
    auto& own = by_rank[data[0] % kRanks];
    if (own.size() == kMaxOfRank) {
      continue;
    }
    pytorch::CommArguments& one = arguments.emplace_back();
    one.spec.kind = static_cast<reprise::CommKind>(data[1] % 6);
    one.spec.in_bytes = one.spec.out_bytes = data[2] % 4;
    one.group_root = data[2] / 16 % kRanks;
    one.group_peer = data[2] / 64 % kRanks;
    pytorch::InferenceTransfer transfer{
        .rank = data[0] % kRanks, .worker = data[0] / 16 % 4 - 1, .arguments = &one};
    std::memcpy(&transfer.start_ns, data + 3, sizeof(transfer.start_ns));
    std::memcpy(&transfer.end_ns, data + 3 + sizeof(transfer.start_ns), sizeof(transfer.end_ns));
    own.push_back(transfer);
  }
  std::vector<pytorch::InferenceTransfer> transfers;
  for (const auto& own : by_rank) {
    transfers.insert(transfers.end(), own.begin(), own.end());
  }
  const std::vector<reprise::ProcessGroup> groups = {{.id = "0", .ranks = {0, 1, 2, 3}},
                                                     {.id = "1", .ranks = {0, 1}},
                                                     {.id = "2", .ranks = {2, 3}},
                                                     {.id = "3", .ranks = {0, 2}}};
  const std::vector<std::size_t> twins = {0, 1, 0, 0};
  const std::vector<std::int32_t> captured = {0, 1, 2, 3};
  for (const int group : pytorch::InferGroups(transfers, groups, twins, captured)) {
    if (group < -1 || group >= static_cast<int>(groups.size())) {
      std::abort();
    }
  }
  return 0;
}
