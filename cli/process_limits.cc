#include "cli/process_limits.h"

#include <fmt/format.h>
#include <sys/resource.h>

namespace reprise {
namespace {

// Measured: Open MPI 4.1 starts one rank with 20.
constexpr rlim_t kFewestFiles = 64;

}  // namespace

Status CheckProcessLimits() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < kFewestFiles) {
    return EnvironmentError(
        fmt::format("this process may open {} files, and MPI needs {}: raise the limit (ulimit -n)",
                    files.rlim_cur, kFewestFiles));
  }
  return {};
}

}  // namespace reprise
