#include "replayer/plan/folded_transfers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "collectives/matching/matching.h"
#include "core/input_file.h"

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

// Of one group: `members` are the classes of its ranks, `of_class` the transfers of each class.
Status MatchGroup(const std::vector<std::uint32_t>& members,
                  const std::vector<const std::vector<PlannedTransfer>*>& of_class) {
  const auto size = static_cast<std::int32_t>(members.size());
  PlansOfSome some;  // the first of each class, and roots, which may do what the others do not
  std::set<std::uint32_t> known;
  for (std::int32_t position = 0; position < size; ++position) {
    const std::uint32_t one = members[static_cast<std::size_t>(position)];
    if (!known.insert(one).second) {
      continue;
    }
    some[position] = of_class[one];
    for (const PlannedTransfer& transfer : *of_class[one]) {
      if (const std::int32_t root = transfer.spec.root; root >= 0 && root < size) {
        some.try_emplace(root, of_class[members[static_cast<std::size_t>(root)]]);
      }
    }
  }
  const bool alike = !DependOnPosition(some);
  if (const std::size_t compared = alike ? some.size() : members.size();
      compared > CurrentInputLimits().members) {
    return OverLimit(
        "its transfers",
        fmt::format("{} of {} ranks would be compared with each other", compared, members.size()),
        "members");
  }
  if (alike) {
    return MatchAlike(some, size);
  }
  std::vector<std::vector<PlannedTransfer>> plans;
  plans.reserve(members.size());
  for (const std::uint32_t member : members) {
    plans.push_back(*of_class[member]);
  }
  std::vector<std::int32_t> all(members.size());
  std::iota(all.begin(), all.end(), 0);
  const auto ranks_of_group = [&all](const std::string&) { return all; };
  CompleteSplits(plans, ranks_of_group);
  return MatchTransfers(plans, ranks_of_group);
}

}  // namespace

void CheckFoldedTransfers(const RankClasses& classes, const std::vector<Graph>& graphs,
                          std::vector<std::string>& errors) {
  std::vector<RoleTransfers> transfers(classes.classes().size());
  for (const Graph& graph : graphs) {
    transfers[classes.IndexOf(graph.metadata().rank)] = TransfersByRole(classes, graph, errors);
  }
  for (std::size_t number = 0; number < classes.roles().size(); ++number) {
    const std::string& role = classes.roles()[number].role;
    std::vector<const std::vector<PlannedTransfer>*> of_class;
    for (const RoleTransfers& by_role : transfers) {
      static const std::vector<PlannedTransfer> none;
      const auto of_role = by_role.find(role);
      of_class.push_back(of_role == by_role.end() ? &none : &of_role->second);
    }
    if (std::ranges::all_of(of_class, [](const auto* plan) { return plan->empty(); })) {
      continue;
    }
    std::set<std::vector<std::uint32_t>> seen;
    for (const std::vector<std::int32_t>& group : classes.GroupsOfRole(number)) {
      std::vector<std::uint32_t> members(group.size());
      std::ranges::transform(group, members.begin(), [&](std::int32_t member) {
        return static_cast<std::uint32_t>(classes.IndexOf(member));
      });
      if (const auto [at, fresh] = seen.insert(std::move(members)); fresh) {
        if (const Status matched = MatchGroup(*at, of_class); !matched) {
          AppendMismatch(role, group.front(), matched.error().message, errors);
        }
      }
    }
  }
}

}  // namespace reprise
