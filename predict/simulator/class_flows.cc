#include "predict/simulator/class_flows.h"

#include <algorithm>
#include <cmath>

namespace reprise {
namespace {

// Which of a list of numbers occur for the first time.
std::vector<bool> FirstOfEach(const std::vector<std::uint32_t>& numbers) {
  std::vector<bool> seen;
  std::vector<bool> first;
  for (const std::uint32_t number : numbers) {
    seen.resize(std::max<std::size_t>(seen.size(), number + 1));
    first.push_back(!seen[number]);
    seen[number] = true;
  }
  return first;
}

}  // namespace

ClassFlows::ClassFlows(const JobGroups& job, const JobClasses& classes, const Network& network)
    : job_(job), classes_(classes), network_(network) {
  const Refinement& refined = classes.refined();
  first_domain_.push_back(FirstOfEach(refined.class_of));
  for (std::size_t role = job.roles().size(); role < refined.kind_of_group.size(); ++role) {
    first_domain_.push_back(FirstOfEach(refined.kind_of_group[role]));
  }
  for (std::size_t role = 0; role < job.roles().size(); ++role) {
    auto& of_role = groups_of_kind_.emplace_back();
    const std::vector<std::uint32_t>& kinds = refined.kind_of_group[role];
    for (std::uint32_t group = 0; group < kinds.size(); ++group) {
      of_role.resize(std::max<std::size_t>(of_role.size(), kinds[group] + 1));
      of_role[kinds[group]].push_back(group);
    }
  }
}

bool ClassFlows::Represents(const LinkPlace& link) const {
  return first_domain_[link.adapter ? 0 : link.level][static_cast<std::size_t>(link.place)];
}

MatchFlow ClassFlows::FlowOf(const Transfer& transfer, const TransferTime& time) {
  MatchFlow flow;
  if (time.data_ns <= 0) {
    return flow;
  }
  const auto [at, added] = routes_.try_emplace(transfer, -1);
  if (added) {
    at->second = AddRoute(transfer, time);
  }
  flow.route = at->second;
  flow.latency_ns =
      std::max<std::int64_t>(time.ns - static_cast<std::int64_t>(std::ceil(time.data_ns)), 0);
  return flow;
}

// All groups of the kind transfer at the same time: what they put on one link of each class.
std::int64_t ClassFlows::AddRoute(const Transfer& transfer, const TransferTime& time) {
  std::map<LinkPlace, std::uint64_t> weights;
  WeightedLinks all;
  const bool pair = IsPointToPoint(transfer.kind);
  for (const std::uint32_t group : groups_of_kind_[transfer.role][transfer.kind_of_group]) {
    std::vector<std::int32_t> devices = job_.Members(transfer.role, group);
    if (pair) {
      const auto member = [&](std::int32_t position) {
        return job_.set().peers_are_ranks ? position : devices[static_cast<std::size_t>(position)];
      };
      devices = {member(transfer.from), member(transfer.to)};
    }
    const std::vector<LinkLoad> loads =
        LoadsOf(network_, {.kind = transfer.kind,
                           .algorithm = time.algorithm,
                           .bytes = transfer.bytes,
                           .devices = devices,
                           .root = pair ? 0 : std::max(transfer.from, 0)});
    const WeightedLinks weighted = WeightsOf(network_, loads, time.data_ns);
    all.unit = weighted.unit;
    for (const auto& [link, weight] : weighted.links) {
      if (Represents(link)) {
        weights[link] += weight;
      }
    }
  }
  all.links.assign(weights.begin(), weights.end());
  return links_.AddRoute(network_, all);
}

}  // namespace reprise
