#include "simulator/transfer_scale.h"

#include <fmt/format.h>

#include <algorithm>

namespace reprise {
SetNetwork::SetNetwork(const Network& network,
                       const std::map<std::string, std::vector<std::int32_t>>& groups)
    : sharing_(network), groups_(groups) {
  // Two groups of the same ranks are used by turns.
  std::set<std::vector<std::int32_t>> seen;
  for (const auto& [id, ranks] : groups) {
    if (ranks.size() > 1 && seen.insert(ranks).second) {
      sharing_.Add(ranks, static_cast<std::uint32_t>(ranks.size()));
    }
  }
}

void SetNetwork::AddPair(std::int32_t sender, std::int32_t receiver) {
  if (pairs_.insert({sender, receiver}).second) {
    sharing_.Add(std::vector{sender, receiver}, LinkSharing::kPairs);
  }
}

TransferTime SetNetwork::TimeOf(const CommSpec& spec, std::int32_t rank) {
  std::string key;
  std::vector<std::int32_t> members;
  if (IsPointToPoint(spec.kind)) {
    members =
        spec.kind == CommKind::kSend ? std::vector{rank, spec.peer} : std::vector{spec.peer, rank};
    key = fmt::format("{}>{}", members[0], members[1]);
  } else {
    const auto group = groups_.find(spec.group);
    if (group == groups_.end()) {
      return {};
    }
    members = group->second;
    key = spec.group;
  }
  if (members.size() < 2 || *std::min_element(members.begin(), members.end()) < 0) {
    return {};
  }
  auto shape = shapes_.find(key);
  if (shape == shapes_.end()) {
    const auto like = IsPointToPoint(spec.kind) ? LinkSharing::kPairs
                                                : static_cast<std::uint32_t>(members.size());
    shape = shapes_.emplace(key, sharing_.ShapeOf(members, like)).first;
  }
  const auto size = static_cast<int>(members.size());
  const std::int64_t bytes = spec.largest_bytes >= 0 && spec.kind != CommKind::kAllGather &&
                                     spec.kind != CommKind::kReduceScatter
                                 ? std::max(spec.largest_bytes, AlgorithmBytes(spec, size))
                                 : AlgorithmBytes(spec, size);
  return sharing_.network().TimeOf(spec.kind, static_cast<double>(bytes), shape->second);
}

}  // namespace reprise
