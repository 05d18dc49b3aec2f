// The main job: a trace set in, a run on disk out. One call per rank.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "collectives/communicator.h"
#include "core/result.h"
#include "replayer/options.h"

namespace reprise {

struct ReplayRequest {
  std::string set_directory;
  std::string run_directory;  // created; refused if it holds a run, unless `force`
  bool force = false;
  std::string command_line;  // for the manifest
  ReplayOptions options;
  // Called on rank 0 with a line for the user; may be empty.
  std::function<void(const std::string&)> progress;
  // Asked some 20 times a second while iterations run, from another thread: whether this rank is to
  // end the run early (a signal has come), and why. May be empty.
  std::function<std::optional<Error>()> interrupted;
};

struct ReplayOutcome {
  std::int64_t checked_transfers = 0;  // on this rank; --check
  std::vector<std::string> notes;      // for the user: which part of the set was replayed
};

// Collective over all ranks of `communicator`. Every rank returns the same success or an error of
// the same kind: ranks agree before each stage, and an error while running is raised to all.
// After an error that began while transfers were outstanding, Communicator::AbortNow ends the
// process; `ran` says whether that is so.
struct ReplayFailure {
  Error error;
  bool while_running = false;
};
[[nodiscard]] tl::expected<ReplayOutcome, ReplayFailure> Replay(const ReplayRequest& request,
                                                                Communicator& communicator);

}  // namespace reprise
