#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/completion_scripts.h"

namespace reprise {
namespace {

std::string QuoteForFish(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    escaped += c == '\\' ? "\\\\" : std::string(1, c);
  }
  return QuoteForShell(escaped, "\\'");
}

// "complete -c reprise -n 'test (__reprise_command) = "reprise list"'".
std::string At(const CommandFacts& command) {
  return fmt::format("complete -c reprise -n 'test (__reprise_command) = \"{}\"'", command.path);
}

std::string Option(const CommandFacts& command, const OptionFacts& option) {
  std::string line = At(command);
  for (const std::string& name : option.names) {
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!option.choices.empty()) {
    line += fmt::format(" -x -a '{}'", fmt::join(option.choices, " "));
  } else if (option.needs_value) {
    line += " -r -F";
  }
  return fmt::format("{} -d {}\n", line, QuoteForFish(FirstLine(option.help)));
}

}  // namespace

std::string FishCompletion(const CommandFacts& program) {
  std::string script =
      "# fish completion of reprise, printed by: reprise completion fish\n"
      "function __reprise_command\n  set -l command reprise\n"
      "  for word in (commandline -opc)[2..-1]\n    switch \"$command $word\"\n      case";
  const std::vector<const CommandFacts*> commands = AllCommands(program);
  for (const CommandFacts* command : commands) {
    script += command == &program ? "" : fmt::format(" '{}'", command->path);
  }
  script += "\n        set command \"$command $word\"\n    end\n  end\n  echo $command\nend\n";
  for (const CommandFacts* command : commands) {
    for (const OptionFacts& option : command->options) {
      script += Option(*command, option);
    }
    for (const CommandFacts& below : command->commands) {
      script += fmt::format("{} -f -a {} -d {}\n", At(*command), below.name,
                            QuoteForFish(FirstLine(below.description)));
    }
    if (const auto words = NextWords(*command); command->commands.empty() && !words.empty()) {
      script += fmt::format("{} -f -a '{}'\n", At(*command), fmt::join(words, " "));
    }
  }
  return script;
}

}  // namespace reprise
