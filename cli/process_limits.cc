#include "cli/process_limits.h"

#include <fmt/format.h>
#include <sys/resource.h>

namespace reprise {
namespace {

// Measured: Open MPI 4.1 starts one rank with 20.
constexpr rlim_t kFewestFiles = 64;
// Measured: a replay of the smallest bundled capture takes 1.1 GB, of which 0.2 GB are touched.
constexpr rlim_t kLeastAddressBytes = rlim_t{1536} << 20;

}  // namespace

Status CheckProcessLimits(ProcessNeeds needs) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < kFewestFiles) {
    return EnvironmentError(
        fmt::format("this process may open {} files, and MPI needs {}: raise the limit (ulimit -n)",
                    files.rlim_cur, kFewestFiles));
  }
  rlimit space{};
  if (needs == ProcessNeeds::kMpiAndKernels && ::getrlimit(RLIMIT_AS, &space) == 0 &&
      space.rlim_cur < kLeastAddressBytes) {
    return EnvironmentError(fmt::format(
        "the address space of this process is limited to {} MB, and kernels and their libraries "
        "need {} MB: raise the limit (ulimit -v), or use --mode dry",
        space.rlim_cur >> 20U, kLeastAddressBytes >> 20U));
  }
  return {};
}

}  // namespace reprise
