#include "predict/simulator/transfer_scale.h"

#include <fmt/format.h>

#include <algorithm>

namespace reprise {
namespace {

double BytesOf(const CommSpec& spec, std::size_t members) {
  const auto size = static_cast<int>(members);
  const std::int64_t bytes = spec.largest_bytes >= 0 && spec.kind != CommKind::kAllGather &&
                                     spec.kind != CommKind::kReduceScatter
                                 ? std::max(spec.largest_bytes, AlgorithmBytes(spec, size))
                                 : AlgorithmBytes(spec, size);
  return static_cast<double>(bytes);
}

}  // namespace

SetNetwork::SetNetwork(const Network& network,
                       const std::map<std::string, std::vector<std::int32_t>>& groups,
                       NetworkModel model)
    : model_(model), sharing_(network), groups_(groups) {
  // Two groups of the same ranks are used by turns.
  std::set<std::vector<std::int32_t>> seen;
  for (const auto& [id, ranks] : groups) {
    if (ranks.size() > 1 && model == NetworkModel::kAlphaBeta && seen.insert(ranks).second) {
      sharing_.Add(ranks, static_cast<std::uint32_t>(ranks.size()));
    }
  }
}

void SetNetwork::AddPair(std::int32_t sender, std::int32_t receiver) {
  if (model_ == NetworkModel::kAlphaBeta && pairs_.insert({sender, receiver}).second) {
    sharing_.Add(std::vector{sender, receiver}, LinkSharing::kPairs);
  }
}

std::vector<std::int32_t> SetNetwork::MembersOf(const CommSpec& spec, std::int32_t rank) const {
  std::vector<std::int32_t> members;
  if (!LacksOf(spec).empty()) {
    return members;
  }
  if (IsPointToPoint(spec.kind)) {
    members =
        spec.kind == CommKind::kSend ? std::vector{rank, spec.peer} : std::vector{spec.peer, rank};
  } else if (const auto group = groups_.find(spec.group); group != groups_.end()) {
    members = group->second;
  }
  if (members.size() < 2 || *std::ranges::min_element(members) < 0) {
    members.clear();
  }
  return members;
}

TransferTime SetNetwork::TimeOf(const CommSpec& spec, std::int32_t rank) {
  const std::vector<std::int32_t> members = MembersOf(spec, rank);
  if (members.empty()) {
    return {};
  }
  const bool pair = IsPointToPoint(spec.kind);
  const std::string key = pair ? fmt::format("{}>{}", members[0], members[1]) : spec.group;
  auto shape = shapes_.find(key);
  if (shape == shapes_.end()) {
    const auto like = pair ? LinkSharing::kPairs : static_cast<std::uint32_t>(members.size());
    shape = shapes_.emplace(key, sharing_.ShapeOf(members, like)).first;
  }
  return sharing_.network().TimeOf(spec.kind, BytesOf(spec, members.size()), shape->second,
                                   spec.dtype);
}

SharedLinks::Route SetNetwork::RouteOf(const CommSpec& spec, std::int32_t rank,
                                       const TransferTime& time, SharedLinks& links) const {
  const std::vector<std::int32_t> members = MembersOf(spec, rank);
  const Network& network = sharing_.network();
  const auto root = std::ranges::find(members, spec.root);
  const std::vector<LinkLoad> loads =
      LoadsOf(network, {.kind = spec.kind,
                        .algorithm = time.algorithm,
                        .bytes = BytesOf(spec, members.size()),
                        .devices = members,
                        .root = root == members.end() ? 0 : root - members.begin()});
  return links.AddRoute(network, WeightsOf(network, loads, time.data_ns));
}

}  // namespace reprise
