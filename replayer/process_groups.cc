// The session's process groups: made, matched across ranks, and by what their transfers run.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "collectives/bench/measured_choices.h"
#include "collectives/gathered.h"
#include "collectives/layout.h"
#include "collectives/matching/group_rounds.h"
#include "replayer/link_devices.h"
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

ChosenTransfer Session::Chosen(const CommSpec& spec) const {
  const RankGroup& group = groups_.at(spec.group);
  const int members = group.comm->size();
  return {.kind = spec.kind,
          .group = spec.group,
          .members = members,
          .hosts = HostsOf(group.ranks, communicator_.nodes()),
          .bytes = LargestBuffer(spec, members)};
}

Status Session::ChooseAlgorithms() {
  ReplayOptions& options = request_.options;
  named_algorithms_ = options.algorithms;
  if (communicator_.transport() != "mpi") {
    return {};
  }
  std::vector<MeasuredGroup> groups;
  for (const auto& [id, group] : mapping_.groups) {
    const auto mine = groups_.find(id);
    groups.push_back({group.ranks, HostsOf(group.ranks, communicator_.nodes()),
                      mine == groups_.end() ? nullptr : mine->second.comm.get()});
  }
  std::vector<ChosenTransfer> transfers;
  for (std::size_t k = 0; k < transfers_.size(); ++k) {
    const Work& work = plan_.work[plan_.transfers[k]];
    const CommSpec& spec = transfers_[k].spec;
    if (work.mode == ReplayMode::kReal && !work.alone && !IsPointToPoint(spec.kind)) {
      transfers.push_back(Chosen(spec));
    }
  }
  REPRISE_ASSIGN(
      options.algorithms,
      CompleteChoices(communicator_, *group_maker_, groups, transfers, options.algorithms,
                      options.measured_collectives, MpiLibraryVersion()));
  group_maker_->Use(options.algorithms);
  return {};
}

// With --check the data is made on the hosts.
Status Session::ConnectDevices() {
  if (!each_has_a_device_ || request_.options.check || !request_.options.links_devices) {
    return {};
  }
  REPRISE_ASSIGN(links_,
                 LinkDevices({.graph = *graph_,
                              .plan = plan_,
                              .transfers = transfers_,
                              .groups = groups_,
                              .memory = *memory_,
                              .ranks_of = [this](const auto& id) { return mapping_.RanksOf(id); },
                              .by_messages =
                                  [this](const CommSpec& spec) {
                                    return !IsPointToPoint(spec.kind) &&
                                           named_algorithms_.Find(Chosen(spec)).has_value();
                                  }},
                             communicator_, *device_));
  for (std::size_t k = 0; links_.library != nullptr && k < transfers_.size(); ++k) {
    const Graph::Index node = plan_.transfers[k];
    const CommSpec& spec = transfers_[k].spec;
    if (plan_.work[node].mode == ReplayMode::kReal && !plan_.work[node].alone &&
        spec.in_bytes + spec.out_bytes > 0 && !links_.transfers.contains(node)) {
      plan_.diagnostics.Count(fmt::format("staged_transfer: {}", Name(spec.kind)),
                              fmt::format("node {}", graph_->id(node)));
    }
  }
  return {};
}

}  // namespace reprise
