// One random trace set replayed by the engine over any transport that is at hand, with injected
// delays, and what must hold afterwards.
#pragma once

#include <cstdint>

#include "collectives/communicator.h"
#include "core/result.h"
#include "kernels/device.h"
#include "tests/replayer/random_set.h"

namespace reprise::testing {

// What is broken on purpose, on rank 0, to prove that the check below would tell.
enum class Breakage : std::uint8_t {
  kNone,
  kSwappedOrder,  // two collectives of a group change places in the recorded order
  kLostTransfer,  // the last collective of a group of several is never issued
};
// False where the set has nothing to break in this way.
[[nodiscard]] bool Break(RandomSet& set, Breakage breakage);

// Makes barriers of all collectives: nothing but their order tells them apart.
void MakeAlike(RandomSet& set);

// Replays this rank's part; every rank of the communicator calls it with the same set. Fails, on
// every rank, where data is wrong, a sequence is not issued in its recorded order, a transfer is
// missing, or no node completes anywhere for `limit_ns`. `device` null: operations are timed.
[[nodiscard]] Status RunOrderCase(const RandomSet& set, Communicator& communicator, Device* device,
                                  std::int64_t limit_ns);

// The same with ranks as threads of this process.
[[nodiscard]] Status RunLocalOrderCase(const RandomSet& set, Device* device, std::int64_t limit_ns);

}  // namespace reprise::testing
