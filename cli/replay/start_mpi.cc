#include "cli/replay/start_mpi.h"

#include <fmt/format.h>

#include "cli/program/launched_rank.h"

namespace reprise {

Result<std::unique_ptr<Communicator>> StartMpi(const CommandContext& context) {
  int argc = context.argc;
  char** argv = context.argv;
  REPRISE_ASSIGN(auto communicator, CreateMpiCommunicator(&argc, &argv));
  const LaunchedRank launched = FindLaunchedRank();
  if (launched.world_size > 1 && communicator->size() == 1) {
    return UsageError(fmt::format(
        "{} started {} processes, but none has found the others: each is rank 0 of 1 to this "
        "program's MPI, {}; start them with that MPI's own mpirun{}",
        launched.launcher, launched.world_size, MpiLibraryVersion(),
        launched.launcher == "srun" ? ", or with srun --mpi=pmix" : ""));
  }
  return communicator;
}

}  // namespace reprise
