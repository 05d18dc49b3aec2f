// What stands for the commands that a build without replay leaves out: they are named in --help,
// and say how to get them.
#include <fmt/format.h>

#include "cli/program/commands.h"
#include "cli/program/replay_parts.h"

namespace reprise {
namespace {

CommandBody RegisterLeftOut(CLI::App& app) {
  app.description("Not in this build, which is without replay (-DREPRISE_REPLAY=OFF)");
  app.prefix_command();  // whatever stands behind it
  const std::string name = app.get_name();
  return [name]() -> Result<int> {
    return EnvironmentError(fmt::format(
        "`reprise {}` is not in this build, which is without replay: configure with "
        "-DREPRISE_REPLAY=ON (needs MPI, OpenCL, oneDNN and TBB), or install the package or bundle "
        "(docs/install.md)",
        name));
  };
}

}  // namespace

ReplayParts PartsOfReplay() {
  return {.parts = "all but replay (-DREPRISE_REPLAY=OFF)", .mpi = "none"};
}
void EndLaunchedRanks(int /*exit_code*/) {}
Json ListKernels() { return Json::array(); }
Json ListBackends() { return Json::array(); }

#define COMMAND(name)
#define REPLAY_COMMAND(name)                                                     \
  CommandBody Register##name(CLI::App& app, const CommandContext& /*context*/) { \
    return RegisterLeftOut(app);                                                 \
  }
#include "cli/program/commands.def"
#undef REPLAY_COMMAND
#undef COMMAND

}  // namespace reprise
