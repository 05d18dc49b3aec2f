// How a host's processor was used while it replayed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace reprise {

// Shares of the time of the cores that the ranks may use.
struct CoreShares {
  std::optional<double> others;  // programs that are not the replay; absent: not known
  std::optional<double> stolen;  // the hypervisor ran other guests
};

struct IterationUse {
  CoreShares shares;
  std::optional<double> pressure;         // share of its time: some task waited for a core
  std::optional<double> load;             // average of a minute
  std::int64_t involuntary_switches = 0;  // of all ranks
  bool disturbed = false;  // others and stolen, beyond what the ticks of /proc/stat leave open
};

struct ProcessorUse {
  std::vector<IterationUse> iterations;  // measured ones
  CoreShares shares;                     // of all of them together
  std::int64_t cores = 0;                // of the host that they are of
  std::int64_t disturbed = 0;            // iterations
};

}  // namespace reprise
