// The main job: a trace set in, a run on disk out. One call per rank.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/communicator.h"
#include "core/result.h"
#include "replayer/engine/replay_options.h"
#include "replayer/plan/run_request.h"

namespace reprise {

// The current activity of rank 0.
struct ReplayProgress {
  std::string_view stage;      // "compiling kernels", …; of iterations "warm-up" or "iteration"
  std::int32_t iteration = 0;  // that has ended, from 1; 0: none, the stage begins
  std::int32_t of = 0;         // so many
  std::int64_t step_ns = 0;    // which that iteration took on this rank
};

struct ReplayRequest : RunRequest {
  ReplayOptions options;
  std::string device_reason;  // why the options' backend, where the user named none; for the run
  // Called on rank 0; may be empty.
  std::function<void(const ReplayProgress&)> progress;
  // Called some 20 times a second while iterations run, from another thread: returns whether this
  // rank should end the run early (after a signal), and why. May be empty.
  std::function<std::optional<Error>()> interrupted;
};

// Collective over all ranks of `communicator`.
[[nodiscard]] ReplayResult Replay(const ReplayRequest& request, Communicator& communicator);

// Replays `ranks` ranks on the processes of a communicator, each rank on a thread of its own
// (CreateThreadedCommunicators assigns ranks to processes).
// Collective; the outcome is that of this process's first rank.
[[nodiscard]] ReplayResult ReplayRanksOfProcess(const ReplayRequest& request,
                                                Communicator& processes, int ranks);

}  // namespace reprise
