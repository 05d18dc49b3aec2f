#include "cli/program/launched_rank.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

#include "core/text.h"

namespace reprise {
namespace {

std::optional<std::int32_t> Number(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? std::nullopt : ParseNumber<std::int32_t>(text);
}

struct Launcher {
  const char* name;
  const char* rank;
  const char* world_size;
  const char* local_rank;
  const char* only_with;  // set in what it starts, and not in what merely waits for it
};

constexpr Launcher kLaunchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "TORCHELASTIC_RUN_ID"},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_RANK"},
    // MPICH's and those of its relatives (Intel MPI, MVAPICH).
    {"mpiexec", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "PMI_RANK"},
    // A batch script has most of Slurm's variables too, but is no step.
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_ID"},
};

}  // namespace

LaunchedRank FindLaunchedRank() {
  for (const Launcher& launcher : kLaunchers) {
    const auto rank = Number(launcher.rank);
    const auto world_size = Number(launcher.world_size);
    const auto local_rank = Number(launcher.local_rank);
    if (std::getenv(launcher.only_with) != nullptr && rank && world_size && local_rank &&
        *rank >= 0 && *rank < *world_size && *local_rank >= 0) {
      return {*rank, *world_size, *local_rank, launcher.name};
    }
  }
  return {};
}

bool ShownOnTerminal(int stream) {
  if (FindLaunchedRank().launcher != "mpirun") {
    return isatty(stream) == 1;
  }
  std::error_code error;
  const std::string target =
      std::filesystem::read_symlink(fmt::format("/proc/{}/fd/{}", getppid(), stream), error)
          .string();
  return !error && (target.starts_with("/dev/pts/") || target.starts_with("/dev/tty"));
}

}  // namespace reprise
