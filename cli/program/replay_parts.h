// What of this build replays: cli/replay/ defines these, or cli/without_replay/ in a build without
// replay.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/json_fields.h"
#include "core/result.h"
#include "replayer/plan/known_work.h"

namespace reprise {

struct ReplayParts {
  std::string parts;                  // "all", or where replay is; for --version
  std::string mpi;                    // the library that is loaded, or "none"
  std::string libraries;              // replay's own with their versions, with a comma before each
  std::vector<std::string> backends;  // kinds of devices that kernels run on
  FindKernel find_kernel;
  // For what this build leaves out: becomes the program beside it that has it (the wheel's), or
  // says how to get it. Returns only with an environment error. Null in a build with replay.
  std::function<Result<int>(const std::string& command, char** argv)> run_elsewhere;
};
[[nodiscard]] ReplayParts PartsOfReplay();

// Ends all ranks that MPI's launcher has started, for a reason that all have and that is printed
// (collectives/communicator.h: EndMpiJob). Does nothing without replay.
void EndLaunchedRanks(int exit_code);

// The rows of `reprise list kernels` and `reprise list backends`, as JSON arrays. Empty without
// replay.
[[nodiscard]] Json ListKernels();
[[nodiscard]] Json ListBackends();

}  // namespace reprise
