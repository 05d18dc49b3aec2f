#include "converters/comm_sizes.h"

#include <algorithm>

namespace reprise {

void CompleteSizes(std::int64_t group_size, const std::string& where, CommSpec& spec,
                   Diagnostics& diagnostics) {
  // More would overflow in sums; no message is near it.
  constexpr std::int64_t kMax = std::int64_t{1} << 50;
  if (spec.kind == CommKind::kBarrier) {
    spec.in_bytes = spec.out_bytes = 0;
    return;
  }
  const std::int64_t given = spec.kind == CommKind::kRecv ? spec.out_bytes : spec.in_bytes;
  std::int64_t bytes = std::clamp<std::int64_t>(given, 0, kMax);
  if (bytes != given) {
    diagnostics.Count("comm_size_out_of_range", where);
  }
  if (spec.dtype == DType::kUnknown) {
    spec.dtype = bytes % SizeOf(DType::kFloat32) == 0 ? DType::kFloat32 : DType::kUInt8;
    diagnostics.Count("dtype_assumed", where);
  }
  const bool shared = spec.kind == CommKind::kReduceScatter || spec.kind == CommKind::kAllToAll ||
                      spec.kind == CommKind::kScatter;
  const std::int64_t unit = SizeOf(spec.dtype) * (shared ? group_size : 1);
  if (bytes % unit != 0) {
    bytes += unit - bytes % unit;
    diagnostics.Count("comm_size_rounded_up", where);
  }
  spec.in_bytes = spec.out_bytes = bytes;
  switch (spec.kind) {
    case CommKind::kAllGather:
    case CommKind::kGather:
      spec.out_bytes = std::min(bytes, kMax / group_size) * group_size;
      break;
    case CommKind::kReduceScatter:
    case CommKind::kScatter:
      spec.out_bytes = bytes / group_size;
      break;
    case CommKind::kSend:
      spec.out_bytes = 0;
      break;
    case CommKind::kRecv:
      spec.in_bytes = 0;
      break;
    default:
      break;
  }
}

void ShareLargestBytes(std::span<CommSpec* const> members) {
  const auto [least, most] =
      std::minmax_element(members.begin(), members.end(), [](const CommSpec* a, const CommSpec* b) {
        return ContributedBytes(*a) < ContributedBytes(*b);
      });
  if (members.empty() || ContributedBytes(**least) == ContributedBytes(**most)) {
    return;
  }
  const std::int64_t largest_bytes = ContributedBytes(**most);
  for (CommSpec* member : members) {
    member->largest_bytes = largest_bytes;
  }
}

}  // namespace reprise
