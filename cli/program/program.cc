#include "cli/program/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "cli/program/commands.h"
#include "cli/program/common_options.h"
#include "cli/program/environment.h"
#include "cli/program/examples.h"
#include "cli/program/given_path.h"
#include "cli/program/interrupts.h"
#include "cli/program/launched_processes.h"
#include "cli/program/launched_rank.h"
#include "cli/program/replay_parts.h"
#include "cli/program/usage_message.h"
#include "cli/program/version.h"
#include "core/log.h"
#include "core/shown_text.h"

namespace reprise {
namespace {

// What the processes of a launcher do for a command.
enum class LaunchedWork : std::uint8_t {
  kOfFirst,  // the first does it, the others wait for it
  kShared,   // each does its share (CommandContext::processes)
  kOfEach,   // each does its own: they start MPI themselves, or need none
};

struct Command {
  CLI::App* app;
  CommandBody body;
  LaunchedWork work;
};

LaunchedWork LaunchedWorkOf(std::string_view command, bool replays) {
  constexpr std::string_view kSharedCommands[] = {"convert",   "validate", "stats",
                                                  "anonymize", "pack",     "report"};
  if (std::ranges::find(kSharedCommands, command) != std::end(kSharedCommands)) {
    return LaunchedWork::kShared;
  }
  return replays || command == "monitor" ? LaunchedWork::kOfEach : LaunchedWork::kOfFirst;
}

CommandContext ReadContext(int argc, char** argv) {
  CommandContext context{.argc = argc, .argv = argv, .command_line = {}, .cache_directory = {}};
  for (int i = 0; i < argc; ++i) {
    context.command_line += (i > 0 ? " " : "") + std::string(argv[i]);
  }
  if (const std::string xdg = Environment("XDG_CACHE_HOME"); !xdg.empty()) {
    context.cache_directory = xdg + "/reprise";
  } else if (const std::string home = Environment("HOME"); !home.empty()) {
    context.cache_directory = home + "/.cache/reprise";
  }
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path programs = self.parent_path().parent_path() / "share" / "reprise" / "programs";
  if (fs::exists(programs, error)) {
    context.compiled_programs = programs.string();
  }
  return context;
}

// "Convert" → "convert".
std::string SubcommandName(std::string name) {
  name[0] = static_cast<char>(name[0] - 'A' + 'a');
  return name;
}

// What all ranks of a launch find wrong, the first prints. A launcher ends every rank once one has
// ended with an error, so the others give the first the time to print; its end ends their wait.
int EndForAll(const std::string& message, ErrorKind kind) {
  constexpr std::chrono::seconds kForFirstRank{5};
  const LaunchedRank launched = FindLaunchedRank();
  if (launched.rank == 0) {
    fmt::print(stderr, "reprise: {}\n", ShownLines(message));
  }
  const int code = static_cast<int>(kind);
  if (launched.launcher == "mpirun") {
    EndLaunchedRanks(code);
  }
  if (launched.rank != 0) {
    std::this_thread::sleep_for(kForFirstRank);
  }
  return code;
}

// Help and version on stdout, what is wrong on stderr; of several ranks only the first prints.
int EndParsing(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) {
    return FindLaunchedRank().rank == 0 ? app.exit(error) : 0;
  }
  return EndForAll(UsageMessage(app, error), ErrorKind::kUsage);
}

// The same line of every rank of a launch says the same once: what the command line is alone.
int EndWith(const Error& error, bool same_on_all_ranks) {
  if (same_on_all_ranks && !error.message.empty()) {
    return EndForAll(error.message, error.kind);
  }
  if (!error.message.empty()) {
    fmt::print(stderr, "reprise: {}\n", ShownLines(error.message));
  }
  return static_cast<int>(error.kind);
}

Result<int> Flushed(const CommandBody& body) {
  const Result<int> code = body();
  return std::fflush(stdout) == 0 ? code : EnvironmentError("could not write all of the output");
}

// What the handler that calls it has caught.
Error CaughtError() {
  std::string message;
  try {
    throw;
  } catch (const std::bad_alloc&) {
    message = "out of memory; give it more (ulimit -v, a container's limit), or a smaller input";
  } catch (const std::system_error& error) {
    // fmt::print throws it where stdout can't be written; threads where none can be started.
    message =
        fmt::format("the system refused: {}; is the disk full, or a limit reached?", error.what());
  } catch (const std::exception& error) {
    message = fmt::format("internal error: {} (please report this)", error.what());
  }
  return {ErrorKind::kEnvironment, std::move(message)};
}

// One result and one exit code of all: the first process prints. None may leave while others wait.
int RunOnProcesses(const Command& command, CommandContext& context) {
  const auto joined = JoinLaunchedProcesses(context);
  if (!joined) {
    return EndWith(joined.error(), joined.error().kind == ErrorKind::kUsage);
  }
  LaunchedProcesses& processes = **joined;
  const bool first = processes.first();
  Result<int> code = 0;
  if (command.work == LaunchedWork::kShared) {
    context.processes = &processes;
    if (!first && std::freopen("/dev/null", "w", stdout) == nullptr) {
      code = EnvironmentError("/dev/null: cannot be opened for writing");
    }
  }
  if (code && (first || command.work == LaunchedWork::kShared)) {
    try {
      code = Flushed(command.body);
    } catch (...) {
      code = tl::unexpected<Error>(CaughtError());
    }
  }
  if (!code && command.work == LaunchedWork::kOfFirst) {
    code = EndWith(code.error(), /*same_on_all_ranks=*/false);
  }
  const auto ends = processes.Exchange(code ? Result<std::string>(std::to_string(*code))
                                            : tl::unexpected<Error>(code.error()));
  const int exit_code =
      ends ? std::atoi(ends->front().c_str()) : static_cast<int>(ends.error().kind);
  if (!ends && first && !ends.error().message.empty()) {
    fmt::print(stderr, "reprise: {}\n", ShownLines(ends.error().message));
  }
  processes.End(exit_code);
  return exit_code;
}

// "reprise help report" is "reprise report --help".
std::vector<const char*> ParsedLine(int argc, char** argv) {
  std::vector<const char*> words(argv, argv + argc);
  if (words.size() > 1 && std::string_view(words[1]) == "help") {
    words.erase(words.begin() + 1);
    words.push_back("--help");
  }
  return words;
}

int Main(int argc, char** argv) {
  CLI::App app{"Converts, replays and measures execution traces of PyTorch training jobs."};
  app.set_version_flag("--version", VersionText, "print version, commit, backends and libraries");
  app.require_subcommand(1);
  app.fallthrough(false);
  ShowExamplesInHelp(app);
  CommandContext context = ReadContext(argc, argv);
  std::vector<Command> commands;
  const auto add = [&](const std::string& name, const char* about, bool replays,
                       const auto& registered) {
    CLI::App* sub = app.add_subcommand(name, about);
    commands.push_back({sub, registered(*sub, context), LaunchedWorkOf(name, replays)});
  };
#define COMMAND(name) add(SubcommandName(#name), "", /*replays=*/false, Register##name);
#define REPLAY_COMMAND(name, about) \
  add(SubcommandName(#name), about, /*replays=*/true, Register##name);
#include "cli/program/commands.def"
#undef REPLAY_COMMAND
#undef COMMAND
  AddCommonOptions(app);
  try {
    const std::vector<const char*> line = ParsedLine(argc, argv);
    app.parse(static_cast<int>(line.size()), line.data());
  } catch (const CLI::ParseError& error) {
    return EndParsing(app, error);
  }
  for (const Command& command : commands) {
    if (!command.app->parsed()) {
      continue;
    }
    SetLog(IsVerbose(*command.app) ? LogLevel::kDebug : LogLevel::kInfo);
    if (const Status limits = ApplyLimits(*command.app); !limits) {
      return EndWith(limits.error(), /*same_on_all_ranks=*/true);
    }
    if (const Status given = CheckGivenPaths(*command.app); !given) {
      return EndWith(given.error(), /*same_on_all_ranks=*/true);
    }
    RemoveOutputsOnInterrupt();
    if (command.work != LaunchedWork::kOfEach && IsOneOfSeveral(FindLaunchedRank())) {
      return RunOnProcesses(command, context);
    }
    const Result<int> code = Flushed(command.body);
    return code ? *code : EndWith(code.error(), code.error().kind == ErrorKind::kUsage);
  }
  return static_cast<int>(ErrorKind::kUsage);
}

}  // namespace

int RunProgram(int argc, char** argv) {
  try {
    return Main(argc, argv);
  } catch (...) {
    const Error error = CaughtError();
    std::fprintf(stderr, "reprise: %s\n", error.message.c_str());
  }
  return static_cast<int>(ErrorKind::kEnvironment);
}

}  // namespace reprise
