// The session's process groups: made, matched across ranks, and by which algorithms their
// collectives run.
#include <map>
#include <string>
#include <vector>

#include "collectives/bench/measured_choices.h"
#include "collectives/gathered.h"
#include "collectives/layout.h"
#include "collectives/matching/group_rounds.h"
#include "replayer/session.h"

namespace reprise {

Status Session::CreateGroups() {
  group_maker_.emplace(communicator_, request_.options.algorithms);
  for (const auto& [id, group] : mapping_.groups) {
    REPRISE_ASSIGN(auto comm, group_maker_->Create(group.ranks, id));
    if (comm != nullptr) {
      groups_[id] = {group.ranks, std::move(comm)};
    }
  }
  return {};
}

Status Session::MatchRanks() {
  std::vector<GroupMember> groups;
  for (const auto& [id, group] : groups_) {
    groups.push_back({id, {.ranks = group.ranks, .rank = group.comm->rank()}, group.comm.get()});
  }
  GroupRounds rounds(communicator_, std::move(groups));
  transfers_ = TransfersOf(*graph_, plan_);
  REPRISE_TRY(AgreeOnTransfersAcross(rounds, mapping_, request_.options.part, transfers_));
  for (std::size_t k = 0; k < transfers_.size(); ++k) {
    const CommSpec& spec = transfers_[k].spec;
    plan_.work[plan_.transfers[k]].cost.bytes = static_cast<double>(spec.in_bytes + spec.out_bytes);
  }
  REPRISE_ASSIGN(part_, SumOverRanks(communicator_, part_));
  return {};
}

Status Session::ChooseAlgorithms() {
  ReplayOptions& options = request_.options;
  if (communicator_.transport() != "mpi") {
    return {};
  }
  std::vector<MeasuredGroup> groups;
  std::map<std::string, int> hosts_of;
  for (const auto& [id, group] : mapping_.groups) {
    const auto mine = groups_.find(id);
    const int hosts = HostsOf(group.ranks, communicator_.nodes());
    groups.push_back(
        {group.ranks, hosts, mine == groups_.end() ? nullptr : mine->second.comm.get()});
    hosts_of[id] = hosts;
  }
  std::vector<ChosenTransfer> transfers;
  for (std::size_t k = 0; k < transfers_.size(); ++k) {
    const Work& work = plan_.work[plan_.transfers[k]];
    const CommSpec& spec = transfers_[k].spec;
    if (work.mode == ReplayMode::kReal && !work.alone && !IsPointToPoint(spec.kind)) {
      const int members = groups_.at(spec.group).comm->size();
      transfers.push_back({.kind = spec.kind,
                           .group = spec.group,
                           .members = members,
                           .hosts = hosts_of.at(spec.group),
                           .bytes = LargestBuffer(spec, members)});
    }
  }
  REPRISE_ASSIGN(
      options.algorithms,
      CompleteChoices(communicator_, *group_maker_, groups, transfers, options.algorithms,
                      options.measured_collectives, MpiLibraryVersion()));
  group_maker_->Use(options.algorithms);
  return {};
}

}  // namespace reprise
