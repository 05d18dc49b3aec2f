// The processes that a launcher started for one command.
#pragma once

#include <memory>

#include "cli/program/commands.h"
#include "core/processes.h"
#include "core/result.h"

namespace reprise {

class LaunchedProcesses : public Processes {
 public:
  // The last call, by all processes with one exit code, once what is to be said is printed. Returns
  // where this process has to end by itself.
  virtual void End(int exit_code) = 0;
};

// Once in a process, which waits for the others here. In a build without replay, which has no MPI,
// the program beside it that has one takes the command line over, where there is one
// (ReplayParts::run_elsewhere). Else an error: the same on all processes where it is one of usage.
// cli/replay/ defines it, or cli/without_replay/.
[[nodiscard]] Result<std::unique_ptr<LaunchedProcesses>> JoinLaunchedProcesses(
    const CommandContext& context);

}  // namespace reprise
