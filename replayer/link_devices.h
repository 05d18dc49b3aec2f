// Before a run: which transfers the ranks' devices make among themselves, and the groups for them.
#pragma once

#include <functional>
#include <vector>

#include "collectives/communicator.h"
#include "core/result.h"
#include "et_schema/graph.h"
#include "replayer/engine/comm_thread.h"
#include "replayer/engine/linked_transfer.h"

namespace reprise {

// One rank's, as it is replayed.
struct LinkedWork {
  const Graph& graph;
  const Plan& plan;
  const std::vector<PlannedTransfer>& transfers;  // matched, parallel to Plan::transfers
  const RankGroups& groups;
  const Bindings& memory;
  RanksOfGroup ranks_of;
  // Transfers that the user wants to be made of messages; the same on all members.
  std::function<bool(const CommSpec&)> by_messages;
};

// Collective; every rank has a device, and no two of a host the same. No links where some device
// has no library for it. Nor where one does not work: rank 0 then prints why. A transfer that its
// members cannot make alike is left out: its tensors are in other pieces on each, or the library
// does not take it. Errors are those of the communicator alone.
[[nodiscard]] Result<DeviceLinks> LinkDevices(const LinkedWork& work, Communicator& communicator,
                                              Device& device);

}  // namespace reprise
