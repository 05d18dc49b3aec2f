#include "cli/program/launched_rank.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
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

std::string ReadProcessFile(pid_t pid, const char* name) {
  std::ifstream file(fmt::format("/proc/{}/{}", pid, name), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

pid_t ParentOf(pid_t pid) {
  const std::string stat = ReadProcessFile(pid, "stat");  // "PID (NAME) STATE PARENT …"
  const std::size_t name_end = stat.rfind(") ");
  const auto fields =
      SplitText(std::string_view(stat).substr(std::min(name_end, stat.size())), ' ');
  return fields.size() < 3 ? 0 : ParseNumber<pid_t>(fields[2]).value_or(0);
}

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

bool IsOneOfSeveral(const LaunchedRank& launched) {
  if (launched.world_size < 2 || launched.launcher == "torchrun") {
    return false;
  }
  std::string rank_variable;
  for (const Launcher& launcher : kLaunchers) {
    if (launched.launcher == launcher.name) {
      rank_variable = fmt::format("{}={}", launcher.rank, launched.rank);
    }
  }
  constexpr int kMostBetween = 16;  // shells and tools between the launcher and this process
  pid_t pid = getppid();
  for (int i = 0; i < kMostBetween && pid > 1; ++i, pid = ParentOf(pid)) {
    const std::string environment = ReadProcessFile(pid, "environ");
    const auto entries = SplitText(environment, '\0');
    if (std::ranges::find(entries, std::string_view(rank_variable)) == entries.end()) {
      return true;  // the launcher itself, or what started that
    }
    if (ReadProcessFile(pid, "comm").starts_with("python")) {
      return false;
    }
  }
  return true;
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
