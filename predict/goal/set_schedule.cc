#include "predict/goal/set_schedule.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "predict/goal/transfers.h"

namespace reprise {
namespace {

// The nodes of the timing graph by rank: the set's, then those that the machine's model adds
// (latencies of launches), which are of the rank of what they wait for.
std::vector<std::vector<std::uint32_t>> NodesByRank(const SimulatedSet& set) {
  std::vector<std::vector<std::uint32_t>> nodes(set.graphs.size());
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    nodes[rank].resize(set.graphs[rank].size());
    std::iota(nodes[rank].begin(), nodes[rank].end(), set.first[rank]);
  }
  for (std::uint32_t node = set.first.back(); node < set.timing.size(); ++node) {
    const std::uint32_t launch = set.timing.DepsOf(node).front();
    const auto after = std::ranges::upper_bound(set.first, launch);
    nodes[static_cast<std::size_t>(after - set.first.begin()) - 1].push_back(node);
  }
  return nodes;
}

}  // namespace

Result<goal::RankSchedules> GoalOfSet(const SimulatedSet& set, const Schedule& schedule,
                                      const GoalOptions& options, std::uint32_t& first_tag,
                                      GoalReport& report) {
  REPRISE_ASSIGN(const std::vector<GoalTransfer> transfers,
                 FindGoalTransfers(set, options.algorithms, options.most_messages, report));
  std::vector<MessagesOfRank> messages(set.graphs.size());
  constexpr std::uint64_t kAnyTag = std::numeric_limits<std::uint32_t>::max();
  std::uint64_t tag = first_tag;
  for (const GoalTransfer& transfer : transfers) {
    std::size_t channels = 0;
    for (const GoalMember& member : transfer) {
      messages[static_cast<std::size_t>(member.rank)][member.node] = {
          &member, static_cast<std::uint32_t>(tag)};
      channels = std::max(channels, member.channels.size());
    }
    tag += channels;
    if (tag >= kAnyTag) {
      return UsageError("the schedule has more transfers than GOAL has tags; take one --step");
    }
  }
  first_tag = static_cast<std::uint32_t>(tag);
  const std::vector<std::vector<std::uint32_t>> nodes = NodesByRank(set);
  const std::int64_t origin_ns =
      schedule.start_ns.empty() ? 0 : *std::ranges::min_element(schedule.start_ns);
  goal::RankSchedules ranks;
  for (std::size_t rank = 0; rank < set.graphs.size(); ++rank) {
    ranks.push_back(GoalOfRank({.set = set,
                                .schedule = schedule,
                                .rank = rank,
                                .nodes = nodes[rank],
                                .origin_ns = origin_ns},
                               messages[rank], options.cpus, report));
  }
  report.ranks += ranks.size();
  report.simulated_ns = std::max(report.simulated_ns, schedule.makespan_ns);
  return ranks;
}

}  // namespace reprise
