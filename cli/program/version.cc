#include "cli/program/version.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "cli/program/replay_parts.h"
#include "commit.h"  // written at build time: cmake/commit.cmake
#include "core/version.h"
#include "report/telemetry/source.h"

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
  const ReplayParts replay = PartsOfReplay();
  return fmt::format(
      "reprise {}\n"
      "commit     {}\n"
      "compiler   {}, {}\n"
      "parts      {}\n"
      "backends   {}\n"
      "telemetry  {}\n"
      "mpi        {}\n"
      "libraries  {}{}",
      kVersion, kCommit, kCompiler, REPRISE_BUILD_TYPE, replay.parts,
      replay.backends.empty() ? "none" : fmt::format("{}", fmt::join(replay.backends, ", ")),
      fmt::join(sources, ", "), replay.mpi, REPRISE_LIBRARIES, replay.libraries);
}

}  // namespace reprise
