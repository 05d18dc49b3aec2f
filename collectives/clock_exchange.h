// Compares the clocks of a run's hosts over its communicator.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/communicator.h"
#include "core/clock.h"
#include "core/host_clock.h"

namespace reprise {

// One rank of each host, in rank order: rank 0 is the first.
[[nodiscard]] std::vector<std::int32_t> HostLeaders(const Communicator& communicator);

// Questions and answers between rank 0 and each leader in turn, of which the fastest counts: the
// answer was given between question and reply, so that the offset is right to half of their
// distance (F. Cristian, "Probabilistic clock synchronization", 1989). Costs rank 0 and the network
// O(hosts), other ranks nothing. Not thread-safe.
class ClockExchange {
 public:
  using Clock = std::function<std::int64_t()>;

  // Collective over all ranks. `leaders` begin with rank 0 and are the same everywhere.
  static Result<ClockExchange> Create(Communicator& communicator,
                                      const std::vector<std::int32_t>& leaders,
                                      Clock clock = &MonotonicNs);
  // Collective over the leaders. What this rank's clock is against rank 0's, which itself has
  // offset 0; nothing on a rank that leads no host.
  [[nodiscard]] Result<std::optional<ClockReading>> Read();

 private:
  ClockExchange(Communicator& communicator, std::unique_ptr<GroupComm> group, bool leads,
                Clock clock);
  Status Answer(int leader);
  Result<ClockReading> Ask();
  Status Pass(Result<std::unique_ptr<Transfer>> started);

  Communicator* communicator_;
  std::unique_ptr<GroupComm> group_;  // of the leaders; none where there is one host
  bool leads_;
  Clock clock_;
};

}  // namespace reprise
