// Which rank of a job this process is, as its launcher says, and where what it prints is shown.
#pragma once

#include <cstdint>
#include <string>

namespace reprise {

struct LaunchedRank {
  std::int32_t rank = 0;
  std::int32_t world_size = 1;
  std::int32_t local_rank = 0;  // among those of this host
  std::string launcher;         // "torchrun", "mpirun", "mpiexec", "srun"; empty: none
};

// From the environment that torchrun, Open MPI's mpirun, MPICH's mpiexec or a step of Slurm set; of
// nested ones the innermost that is known (torchrun). Rank 0 of 1 without any, or where their
// numbers make no sense.
[[nodiscard]] LaunchedRank FindLaunchedRank();

// Whether a launcher of MPI started this process and others for one command, as far as can be seen:
// not torchrun, whose ranks are a training script's, and not where a Python program that is a rank
// of the job itself has started this process, which is then alone.
[[nodiscard]] bool IsOneOfSeveral(const LaunchedRank& launched);

// Whether STDOUT_FILENO or STDERR_FILENO ends on a terminal. Open MPI's mpirun gives a rank a
// terminal of its own for stdout and a pipe for stderr, wherever its own streams go: under mpirun
// the streams of mpirun count.
[[nodiscard]] bool ShownOnTerminal(int stream);

}  // namespace reprise
