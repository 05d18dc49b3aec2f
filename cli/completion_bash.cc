#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/completion_scripts.h"

namespace reprise {
namespace {

constexpr std::string_view kBeginning =
    R"(# bash completion of reprise, printed by: reprise completion bash
_reprise() {
  local current=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} command=reprise words='' i
  # Bash takes --mode=full apart, at the equals sign.
  if [[ $current == = ]]; then
    current=
  elif [[ $option == = ]]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command ${COMP_WORDS[i]}" in
)";
constexpr std::string_view kEnd = R"(    esac
  fi
  # Nothing that begins so: -o default completes names of files.
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o bashdefault -o default -F _reprise reprise
)";

// Values of the options of `command`, one pattern each.
std::string ValueCases(const CommandFacts& command) {
  std::string text;
  for (const OptionFacts& option : command.options) {
    if (option.type.empty() || (option.choices.empty() && !option.needs_value)) {
      continue;
    }
    std::vector<std::string> patterns;
    for (const std::string& name : option.names) {
      patterns.push_back(fmt::format("'{} {}'", command.path, name));
    }
    text += fmt::format("    {}) {} ;;\n", fmt::join(patterns, " | "),
                        option.choices.empty()
                            ? "return"
                            : fmt::format("words='{}'", fmt::join(option.choices, " ")));
  }
  return text;
}

}  // namespace

std::string BashCompletion(const CommandFacts& program) {
  const std::vector<const CommandFacts*> commands = AllCommands(program);
  std::string script(kBeginning);
  for (const CommandFacts* command : commands) {
    if (command != &program) {
      script += fmt::format("      '{}') command='{}' ;;\n", command->path, command->path);
    }
  }
  script += "    esac\n  done\n  COMPREPLY=()\n  case \"$command $option\" in\n";
  for (const CommandFacts* command : commands) {
    script += ValueCases(*command);
  }
  script += "  esac\n  if [[ -z $words && $current == -* ]]; then\n    case $command in\n";
  for (const CommandFacts* command : commands) {
    script += fmt::format("      '{}') words='{}' ;;\n", command->path,
                          fmt::join(OptionNames(*command), " "));
  }
  script += "    esac\n  elif [[ -z $words ]]; then\n    case $command in\n";
  for (const CommandFacts* command : commands) {
    if (const std::vector<std::string> words = NextWords(*command); !words.empty()) {
      script += fmt::format("      '{}') words='{}' ;;\n", command->path, fmt::join(words, " "));
    }
  }
  return script + std::string(kEnd);
}

}  // namespace reprise
