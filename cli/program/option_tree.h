// The commands and options that --help shows, as plain values: the manual page and the completions
// of shells are made from these, so that neither can differ from what the program takes.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace reprise {

struct OptionFacts {
  std::vector<std::string> names;        // "-o", "--output"; empty for positionals
  std::string positional;                // "SET"; empty for options
  std::string type;                      // "TEXT", "INT"; empty for flags
  std::vector<std::string> choices;      // all that is taken, where the parser knows it
  std::vector<std::string> suggestions;  // names that are taken beside others, as of files
  std::string limits;                    // other checks as --help says them: "POSITIVE"
  std::string default_value;
  std::string help;
  std::string group;  // heading in --help
  bool required = false;
  bool repeats = false;      // may be given several times
  bool needs_value = false;  // false for flags and where the value may be left out
};

struct CommandFacts {
  std::string path;  // "reprise bench kernels"
  std::string name;  // "kernels"
  std::string description;
  std::vector<OptionFacts> options, positionals;  // in the order of --help
  std::vector<CommandFacts> commands;
};

// "reprise bench kernels".
[[nodiscard]] std::string CommandPath(const CLI::App& app);
// The innermost command that was given. After parsing.
[[nodiscard]] const CLI::App& GivenCommand(const CLI::App& app);
// An option that was given to a command in `app`, to `app` or to one around it, the innermost
// first; nullptr: to none of them.
[[nodiscard]] const CLI::Option* GivenOption(const CLI::App& app, const std::string& name);

// Everything from `app` down. What --help hides (an empty group) is left out.
[[nodiscard]] CommandFacts DescribeCommands(const CLI::App& app);

// `command` and all below it, parents first. The pointers live as long as `command`.
[[nodiscard]] std::vector<const CommandFacts*> AllCommands(const CommandFacts& command);

}  // namespace reprise
