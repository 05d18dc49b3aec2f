#include "core/timing/transfer.h"

#include <algorithm>
#include <limits>

namespace reprise {

ArrivalNeed LeastNeed(CommKind kind, bool root) {
  switch (kind) {
    case CommKind::kSend:
      return ArrivalNeed::kOwn;
    case CommKind::kRecv:
      return ArrivalNeed::kRoot;
    case CommKind::kBroadcast:
    case CommKind::kScatter:
      return root ? ArrivalNeed::kOwn : ArrivalNeed::kRoot;
    case CommKind::kReduce:
    case CommKind::kGather:
      return root ? ArrivalNeed::kAll : ArrivalNeed::kOwn;
    case CommKind::kAllReduce:
    case CommKind::kAllGather:
    case CommKind::kAllToAll:
    case CommKind::kReduceScatter:
    case CommKind::kBarrier:
    case CommKind::kUnknown:
      break;
  }
  return ArrivalNeed::kAll;
}

std::vector<TransferPart> SplitTransfer(std::span<const TransferMember> members) {
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
  std::int64_t last_arrival = kNever;
  std::int64_t root_arrival = kNever;
  for (const TransferMember& member : members) {
    last_arrival = std::max(last_arrival, member.start_ns);
    if (member.root) {
      root_arrival = std::max(root_arrival, member.start_ns);
    }
  }
  std::vector<TransferPart> parts;
  parts.reserve(members.size());
  for (const TransferMember& member : members) {
    TransferPart part;
    const bool sent = member.kind == CommKind::kSend && member.send_end != SendEnd::kReceived;
    if (sent || member.end_ns < last_arrival) {
      part.need = LeastNeed(member.kind, member.root);
    }
    std::int64_t arrival = member.start_ns;
    if (part.need == ArrivalNeed::kAll) {
      arrival = last_arrival;
    } else if (part.need == ArrivalNeed::kRoot) {
      arrival = std::max(arrival, root_arrival);
    }
    part.transfer_ns = member.end_ns - arrival;
    parts.push_back(part);
  }
  return parts;
}

}  // namespace reprise
