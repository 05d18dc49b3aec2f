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
#include "replayer/plan/options.h"

namespace reprise {

// The current activity of rank 0.
struct ReplayProgress {
  std::string_view stage;      // "compiling kernels", …; of iterations "warm-up" or "iteration"
  std::int32_t iteration = 0;  // that has ended, from 1; 0: none, the stage begins
  std::int32_t of = 0;         // so many
  std::int64_t step_ns = 0;    // which that iteration took on this rank
};

struct ReplayRequest {
  std::string set_directory;
  std::string run_directory;  // created; refused if it holds a run, unless `force`
  bool force = false;
  std::string command_line;  // for the manifest
  ReplayOptions options;
  std::string device_reason;  // why the options' backend, where the user named none; for the run
  // Called on rank 0; may be empty.
  std::function<void(const ReplayProgress&)> progress;
  // Called some 20 times a second while iterations run, from another thread: returns whether this
  // rank should end the run early (after a signal), and why. May be empty.
  std::function<std::optional<Error>()> interrupted;
};

struct ReplayOutcome {
  std::int64_t checked_transfers = 0;  // on this rank; --check
  std::vector<std::string> notes;      // for the user: which part of the set was replayed
};

// Collective over all ranks of `communicator`. Every rank returns the same success or an error of
// the same kind: ranks agree before each stage, and an error while running is raised to all.
// After an error that began while transfers were outstanding, Communicator::AbortNow ends the
// process; `while_running` is then true.
struct ReplayFailure {
  Error error;
  bool while_running = false;
};
using ReplayResult = tl::expected<ReplayOutcome, ReplayFailure>;
[[nodiscard]] ReplayResult Replay(const ReplayRequest& request, Communicator& communicator);

// Replays `ranks` ranks on the processes of a communicator, each rank on a thread of its own
// (CreateThreadedCommunicators assigns ranks to processes). `replay` is Replay or DryReplay.
// Collective; the outcome is that of this process's first rank.
using ReplayRank = std::function<ReplayResult(const ReplayRequest&, Communicator&)>;
[[nodiscard]] ReplayResult ReplayRanksOfProcess(const ReplayRequest& request,
                                                Communicator& processes, int ranks,
                                                const ReplayRank& replay);

}  // namespace reprise
