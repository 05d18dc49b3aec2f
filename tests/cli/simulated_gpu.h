// A GPU training step as Kineto would have recorded it, from a small simulation of host threads,
// streams and events: what really waited for what is known, and the file does not say it (no
// cuda_sync events), as most captures don't.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace reprise {

struct SimulatedGpu {
  std::string kineto;  // the file's text
  struct Wait {
    std::int64_t from, to;  // correlation ids of the kernels
  };
  std::vector<Wait> waits;  // between streams, as simulated
  std::int64_t kernels = 0;
  std::int64_t transfers = 0;
};

// Data-parallel training: forward on the main thread, backward on autograd's with `buckets`
// asynchronous all_reduce on a stream of their own, an optimizer that waits for them, and a
// synchronisation at the end of each of `steps`.
[[nodiscard]] SimulatedGpu SimulateTraining(int steps, int buckets, unsigned seed);

}  // namespace reprise
