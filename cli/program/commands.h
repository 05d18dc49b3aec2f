// Subcommands: one file each. The only place with flags, environment, exit codes and stdout.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "core/processes.h"
#include "core/result.h"

namespace reprise {

// Process-wide facts that a subcommand may need; read once in main.
struct CommandContext {
  int argc = 0;
  char** argv = nullptr;
  std::string command_line;     // as typed, for manifests
  std::string cache_directory;  // $XDG_CACHE_HOME/reprise or ~/.cache/reprise; may be empty
  // share/reprise/programs of the installation; empty where there are none.
  std::string compiled_programs = {};
  // That work on a command which shares its work (program.cc); of any other this one alone. Known
  // when the command runs.
  Processes* processes = &OneProcess();
};

// A subcommand registers its flags on `app` and returns what runs it. The value is the exit code
// (0, or 1 when a check failed and was reported already); an Error is printed by main as
// "reprise: <message>" and its kind becomes the exit code.
using CommandBody = std::function<Result<int>()>;

#define COMMAND(name) CommandBody Register##name(CLI::App& app, const CommandContext& context);
#define REPLAY_COMMAND(name, about) COMMAND(name)
#include "cli/program/commands.def"
#undef REPLAY_COMMAND
#undef COMMAND

}  // namespace reprise
