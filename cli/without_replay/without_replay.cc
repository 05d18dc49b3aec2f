// What stands for the commands that a program without replay leaves out. Where the program that has
// them lies in its place (cmake/wheel.cmake), it takes over the command line; elsewhere they say
// how to get them.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "cli/program/commands.h"
#include "cli/program/launched_processes.h"
#include "cli/program/replay_parts.h"
#include "core/shown_text.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

struct NeededLibrary {
  const char* file;
  std::string_view name;
  std::string_view debian_package;
};
constexpr NeededLibrary kNeeded[] = {
#define LIBRARY(file, name, package) {file, name, package},
#include "cli/without_replay/replay_libraries.def"
};

// lib/reprise/reprise-replay beside the bin/ of this program, as a wheel installs it.
std::optional<fs::path> ReplayProgram() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) {
    return std::nullopt;
  }
  const fs::path program = self.parent_path().parent_path() / "lib" / "reprise" / "reprise-replay";
  return fs::exists(program, error) ? std::optional(program) : std::nullopt;
}

// Why the machine lacks what replay needs. Empty: it has all.
std::string MissingLibraries() {
  std::string missing;
  for (const NeededLibrary& library : kNeeded) {
    if (::dlopen(library.file, RTLD_LAZY | RTLD_LOCAL) == nullptr) {
      missing += fmt::format("{}{} (Debian: {}): {}", missing.empty() ? "" : "; ", library.name,
                             library.debian_package, ShownText(::dlerror()));
    }
  }
  return missing;
}

Result<int> Become(const fs::path& program, const std::string& command, char** argv) {
  if (const std::string missing = MissingLibraries(); !missing.empty()) {
    return EnvironmentError(
        fmt::format("`reprise {}` needs {}. Install it, or use the Debian package or the bundle "
                    "(docs/install.md)",
                    command, missing));
  }
  ::execv(program.c_str(), argv);
  return EnvironmentError(fmt::format("could not start {}: {}", ShownText(program.string()),
                                      std::generic_category().message(errno)));
}

Result<int> RunElsewhere(const std::string& command, char** argv) {
  if (const std::optional<fs::path> program = ReplayProgram()) {
    return Become(*program, command, argv);
  }
  return EnvironmentError(fmt::format(
      "`reprise {}` is not in this build, which is without replay: configure with "
      "-DREPRISE_REPLAY=ON (needs MPI, OpenCL, oneDNN and TBB), or install the package or bundle "
      "(docs/install.md)",
      command));
}

CommandBody RegisterLeftOut(CLI::App& app, const CommandContext& context) {
  app.prefix_command();  // whatever stands behind it
  if (ReplayProgram()) {
    app.set_help_flag();  // the other program has the options
  } else {
    app.description(app.get_description() +
                    ". Not in this build, which is without replay (-DREPRISE_REPLAY=OFF)");
  }
  return [name = app.get_name(), argv = context.argv] { return RunElsewhere(name, argv); };
}

}  // namespace

ReplayParts PartsOfReplay() {
  if (const std::optional<fs::path> program = ReplayProgram()) {
    const std::string missing = MissingLibraries();
    return {.parts = missing.empty()
                         ? fmt::format("all; replay runs as {}", ShownText(program->string()))
                         : fmt::format("all but replay, which needs {}", missing),
            .mpi = "none",
            .run_elsewhere = RunElsewhere};
  }
  return {.parts = "all but replay (-DREPRISE_REPLAY=OFF)",
          .mpi = "none",
          .run_elsewhere = RunElsewhere};
}
void EndLaunchedRanks(int /*exit_code*/) {}
Result<std::unique_ptr<LaunchedProcesses>> JoinLaunchedProcesses(const CommandContext& context) {
  if (const std::optional<fs::path> program = ReplayProgram()) {
    const Result<int> failed = Become(*program, context.argv[1], context.argv);
    return tl::unexpected<Error>(failed.error());
  }
  return UsageError(
      "a launcher started several processes, and this build is without MPI "
      "(-DREPRISE_REPLAY=OFF): start one");
}
Json ListKernels() { return Json::array(); }
Json ListBackends() { return Json::array(); }

#define COMMAND(name)
#define REPLAY_COMMAND(name, about)                                          \
  CommandBody Register##name(CLI::App& app, const CommandContext& context) { \
    return RegisterLeftOut(app, context);                                    \
  }
#include "cli/program/commands.def"
#undef REPLAY_COMMAND
#undef COMMAND

}  // namespace reprise
