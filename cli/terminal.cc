#include "cli/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "cli/launched_rank.h"

namespace reprise {

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
