// Process groups whose collectives run by the algorithms that were chosen.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collectives/algorithms/algorithm_choices.h"
#include "collectives/communicator.h"

namespace reprise {

class ActiveTransfers;

// How many hosts a group's members are on. `nodes` as Communicator::nodes().
[[nodiscard]] int HostsOf(std::span<const std::int32_t> ranks, std::span<const std::int32_t> nodes);

// Makes the groups of one rank; one for all of them, since their transfers advance each other. Not
// thread-safe, like the groups.
class GroupMaker {
 public:
  // `communicator` must outlive the groups.
  GroupMaker(Communicator& communicator, const AlgorithmChoices& choices);
  // As Communicator::CreateGroup; the kinds that the choices name for a group called `name` are
  // made of messages. Reductions by premul_sum work in groups made here only.
  [[nodiscard]] Result<std::unique_ptr<GroupComm>> Create(const std::vector<std::int32_t>& ranks,
                                                          const std::string& name);
  // From now on, of all groups that this made; the same on every rank. Nothing is under way.
  void Use(const AlgorithmChoices& choices);

 private:
  Communicator& communicator_;
  std::shared_ptr<AlgorithmChoices> choices_ = std::make_shared<AlgorithmChoices>();
  std::shared_ptr<ActiveTransfers> active_;
};

}  // namespace reprise
