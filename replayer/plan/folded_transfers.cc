#include "replayer/plan/folded_transfers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "collectives/matching/matching.h"

namespace reprise {
namespace {

using RoleTransfers = std::map<std::string, std::vector<PlannedTransfer>>;

// A rank's transfers by the role of their group, peers and roots as positions again.
RoleTransfers TransfersByRole(const RankClasses& classes, const Graph& graph,
                              std::vector<std::string>& errors) {
  RoleTransfers transfers;
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    if (const CommSpec* const spec = graph.comm(i)) {
      if (!LacksOf(*spec).empty()) {
        continue;  // never carried out
      }
      PlannedTransfer transfer{graph.id(i), *spec};
      if (const Status found = classes.Unresolve(graph.metadata().rank, transfer.spec); !found) {
        errors.push_back(found.error().message);
        continue;
      }
      transfers[transfer.spec.group].push_back(std::move(transfer));
    }
  }
  for (auto& [role, list] : transfers) {
    std::ranges::stable_sort(list, {},
                             [](const PlannedTransfer& transfer) { return transfer.spec.index; });
  }
  return transfers;
}

void AppendMismatch(const std::string& role, std::int32_t first_rank, const std::string& message,
                    std::vector<std::string>& errors) {
  const std::size_t heading = message.find('\n');
  const std::string first = heading == std::string::npos ? message : message.substr(heading + 1);
  errors.push_back(fmt::format("group '{}' of ranks {}, .. (numbered from 0 here): {}", role,
                               first_rank, first));
}

}  // namespace

void CheckFoldedTransfers(const RankClasses& classes, const std::vector<Graph>& graphs,
                          std::vector<std::string>& errors) {
  std::vector<RoleTransfers> transfers;
  transfers.reserve(graphs.size());
  for (const Graph& graph : graphs) {
    transfers.push_back(TransfersByRole(classes, graph, errors));
  }
  const RoleMembers groups = classes.MembersByRole();
  for (const GroupRole& role : classes.roles()) {
    std::set<std::vector<std::size_t>> seen;
    for (const std::vector<std::int32_t>& group : groups.at(role.role)) {
      std::vector<std::size_t> members(group.size());
      std::ranges::transform(group, members.begin(),
                             [&](std::int32_t member) { return classes.IndexOf(member); });
      if (!seen.insert(members).second) {
        continue;
      }
      std::vector<std::vector<PlannedTransfer>> plans;
      for (const std::size_t member : members) {
        const auto of_role = transfers[member].find(role.role);
        plans.push_back(of_role == transfers[member].end() ? std::vector<PlannedTransfer>{}
                                                           : of_role->second);
      }
      std::vector<std::int32_t> all(members.size());
      std::iota(all.begin(), all.end(), 0);
      const auto ranks_of_group = [&all](const std::string&) { return all; };
      CompleteSplits(plans, ranks_of_group);
      if (const Status matched = MatchTransfers(plans, ranks_of_group); !matched) {
        AppendMismatch(role.role, group.front(), matched.error().message, errors);
      }
    }
  }
}

}  // namespace reprise
