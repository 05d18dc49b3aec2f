// reprise: the one executable. Parses, dispatches, turns errors into exit codes.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/environment.h"
#include "cli/version.h"
#include "core/log.h"

namespace reprise {
namespace {

struct Command {
  CLI::App* app;
  CommandBody body;
};

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
  return context;
}

// "Convert" → "convert".
std::string SubcommandName(std::string name) {
  name[0] = static_cast<char>(name[0] - 'A' + 'a');
  return name;
}

int Main(int argc, char** argv) {
  CLI::App app{"Converts, replays and measures execution traces of PyTorch training jobs."};
  app.set_version_flag("--version", VersionText, "print version, commit, backends and libraries");
  app.require_subcommand(1);
  app.fallthrough(false);
  bool verbose = false;
  app.add_flag("-v,--verbose", verbose, "print more messages on stderr");
  const CommandContext context = ReadContext(argc, argv);
  std::vector<Command> commands;
#define COMMAND(name)                                              \
  {                                                                \
    CLI::App* sub = app.add_subcommand(SubcommandName(#name), ""); \
    CommandBody body = Register##name(*sub, context);              \
    commands.push_back({sub, std::move(body)});                    \
  }
#include "cli/commands.def"
#undef COMMAND
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);  // prints help, version or the complaint
    return code == 0 ? 0 : static_cast<int>(ErrorKind::kUsage);
  }
  SetLog(verbose ? LogLevel::kDebug : LogLevel::kInfo);
  for (const Command& command : commands) {
    if (!command.app->parsed()) {
      continue;
    }
    const Result<int> code = command.body();
    if (std::fflush(stdout) != 0) {
      fmt::print(stderr, "reprise: could not write all of the output\n");
      return static_cast<int>(ErrorKind::kEnvironment);
    }
    if (!code) {
      if (!code.error().message.empty()) {
        fmt::print(stderr, "reprise: {}\n", code.error().message);
      }
      return static_cast<int>(code.error().kind);
    }
    return *code;
  }
  return static_cast<int>(ErrorKind::kUsage);
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  try {
    return reprise::Main(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("reprise: out of memory\n", stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "reprise: internal error: %s (please report this)\n", error.what());
  }
  return static_cast<int>(reprise::ErrorKind::kEnvironment);
}
