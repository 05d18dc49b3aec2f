#include "collectives/algorithms/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "collectives/algorithms/algorithm.h"
#include "collectives/algorithms/slices.h"
#include "collectives/layout.h"

namespace reprise {
namespace {

constexpr std::int64_t kLongestChunk = std::int64_t{1} << 40;  // × members fits in 64 bits

// By member: ranks are hosts of their own, unless `node_size` pretends otherwise.
std::vector<int> NodesOfMembers(std::span<const std::int32_t> ranks, int node_size) {
  std::map<std::int32_t, int> numbers;
  std::vector<int> nodes;
  for (const std::int32_t rank : ranks) {
    const std::int32_t host = node_size > 0 ? rank / node_size : rank;
    nodes.push_back(numbers.try_emplace(host, static_cast<int>(numbers.size())).first->second);
  }
  return nodes;
}

}  // namespace

std::optional<AlgorithmChoice> ChoiceFor(const AlgorithmChoices& choices, const CommSpec& spec,
                                         std::span<const std::int32_t> ranks) {
  const auto size = static_cast<int>(ranks.size());
  return choices.Find({.kind = spec.kind,
                       .group = spec.group,
                       .members = size,
                       .hosts = size,
                       .bytes = LargestBuffer(spec, size)});
}

Result<MemberMessages> MessagesOfMember(CommSpec spec, std::span<const std::int32_t> ranks,
                                        int position, const AlgorithmChoice& choice,
                                        std::uint64_t most) {
  // What is computed does not matter.
  spec.op = ReduceOp::kSum;
  if (IsReduction(spec.kind) && spec.dtype == DType::kUnknown) {
    spec.dtype = DType::kUInt8;
  }
  const auto size = static_cast<int>(ranks.size());
  REPRISE_ASSIGN(const TransferLayout layout, LayoutOf(spec, {ranks, position}));
  const std::vector<int> nodes = NodesOfMembers(ranks, choice.node_size);
  const std::int64_t lane_bytes =
      choice.algorithm->LaneBytes(spec.kind, size, std::min(choice.chunk_bytes, kLongestChunk));
  const Slices slices(spec, layout, position, size, nodes, lane_bytes);
  const std::int64_t channels = std::min<std::int64_t>(choice.channels, slices.count());
  MemberMessages planned(static_cast<std::size_t>(channels));
  std::uint64_t count = 0;
  for (std::int64_t number = 0; number < slices.count(); ++number) {
    const Lane lane = choice.algorithm->Plan(slices.Shape(number));
    auto& rounds = planned[static_cast<std::size_t>(number % channels)];
    for (const Round& round : lane.rounds()) {
      if (round.messages.empty()) {
        continue;
      }
      count += round.messages.size();
      if (count > most) {
        return UsageError(
            fmt::format("{}: more than {} messages on rank {}; take larger chunks (--algo)",
                        Describe(spec), most, ranks[static_cast<std::size_t>(position)]));
      }
      auto& messages = rounds.emplace_back();
      for (const LaneAction& action : round.messages) {
        messages.push_back({action.kind == LaneAction::Kind::kSend,
                            ranks[static_cast<std::size_t>(action.peer)], action.bytes});
      }
    }
  }
  return planned;
}

}  // namespace reprise
