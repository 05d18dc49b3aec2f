#include "cli/version.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "collectives/transport/mpi_version.h"
#include "commit.h"  // written at build time: cmake/commit.cmake
#include "core/version.h"
#include "kernels/backend.h"
#include "telemetry/source.h"

namespace reprise {
namespace {

#ifdef __clang__
constexpr std::string_view kCompiler = "clang " __clang_version__;
#else
constexpr std::string_view kCompiler = "gcc " __VERSION__;
#endif

}  // namespace

std::string VersionText() {
  std::vector<std::string_view> sources;
  for (const SourceKind& kind : BuiltinSources()) {
    sources.push_back(kind.name);
  }
  return fmt::format(
      "reprise {}\n"
      "commit     {}\n"
      "compiler   {}, {}\n"
      "backends   {}\n"
      "telemetry  {}\n"
      "mpi        {}\n"
      "libraries  {}",
      kVersion, kCommit, kCompiler, REPRISE_BUILD_TYPE, fmt::join(BackendNames(), ", "),
      fmt::join(sources, ", "), MpiLibraryVersion(), REPRISE_LIBRARIES);
}

}  // namespace reprise
