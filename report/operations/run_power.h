// A run's power beside what ran: peaks, the operations in them and whether throttling followed;
// energy of the phases of inference.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/operations/inference.h"
#include "report/run/run.h"

namespace reprise {

// Of each meter its intervals above its mean by two standard deviations (docs/definitions.md,
// "Power peaks"), together. `throttled`: how many of them the device said that it throttles in, or
// within kThrottleFollowsNs after their end; nothing where it does not say. `operations`: time of
// the host's ranks' operations in them, the most first, at most five. Devices react within some
// readings; what comes later has other causes.
inline constexpr std::int64_t kThrottleFollowsNs = 1'000'000'000;

[[nodiscard]] std::vector<PeakOfPower> FindPowerPeaks(const RunData& run);

// Energy of all meters that count, of the passes of one iteration, by kind of pass.
struct PassEnergy {
  double joules = 0;
  std::int64_t tokens = 0;  // of all sequences
};
// Of rank `rank`'s passes, whose operations name nodes of the run. Nothing: no meter.
[[nodiscard]] std::map<PassKind, PassEnergy> EnergyOfPasses(const RunData& run,
                                                            const RankOperations& rank,
                                                            const InferencePhases& phases);

}  // namespace reprise
