// reprise completion SHELL: what a shell sources to complete commands, options and their values.
// Values are completed where the parser knows all of them; names of files elsewhere.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "cli/program/commands.h"
#include "cli/program/option_tree.h"
#include "core/text.h"
#include "predict/machine/catalogue.h"
#include "predict/machine/stack.h"
#include "predict/workload/job/parse.h"
#include "report/sections/sections.h"

namespace reprise {
namespace {

// What may be taken besides files, where the parser does not know it. The page of --help names the
// command that lists it.
void AddSuggestions(CommandFacts& command) {
  for (OptionFacts& option : command.options) {
    if (std::ranges::find(option.names, "--machine") != option.names.end()) {
      option.suggestions = MachineNames();
    } else if (std::ranges::find(option.names, "--stack") != option.names.end()) {
      option.suggestions = StackNames();
    } else if (std::ranges::find(option.names, "--section") != option.names.end()) {
      option.choices = SectionNames();
    }
  }
  for (OptionFacts& positional : command.positionals) {
    if (positional.positional == "JOB") {
      for (const Preset& preset : BuiltinPresets()) {
        positional.suggestions.emplace_back(preset.name);
      }
    }
  }
  std::ranges::for_each(command.commands, AddSuggestions);
}

const std::vector<std::string>& WordsOf(const OptionFacts& option) {
  return option.choices.empty() ? option.suggestions : option.choices;
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

// What may stand at the next place of a command line, if it begins with a dash, and else: the
// choices of the first positional that has any, or the commands.
std::vector<std::string> OptionNames(const CommandFacts& command) {
  std::vector<std::string> names;
  for (const OptionFacts& option : command.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

std::vector<std::string> NextWords(const CommandFacts& command) {
  for (const OptionFacts& positional : command.positionals) {
    if (!WordsOf(positional).empty()) {
      return WordsOf(positional);
    }
  }
  std::vector<std::string> words;
  for (const CommandFacts& below : command.commands) {
    words.push_back(below.name);
  }
  return words;
}

constexpr std::string_view kBashBegin =
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
constexpr std::string_view kBashEnd = R"(    esac
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
    if (option.type.empty() || (WordsOf(option).empty() && !option.needs_value)) {
      continue;
    }
    std::vector<std::string> patterns;
    for (const std::string& name : option.names) {
      patterns.push_back(fmt::format("'{} {}'", command.path, name));
    }
    text += fmt::format("    {}) {} ;;\n", fmt::join(patterns, " | "),
                        WordsOf(option).empty()
                            ? "return"
                            : fmt::format("words='{}'", fmt::join(WordsOf(option), " ")));
  }
  return text;
}

std::string BashCompletion(const CommandFacts& program) {
  const std::vector<const CommandFacts*> commands = AllCommands(program);
  std::string script(kBashBegin);
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
  return script + std::string(kBashEnd);
}

std::string QuoteForFish(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    escaped += c == '\\' ? "\\\\" : std::string(1, c);
  }
  return SingleQuoted(escaped, "\\'");
}

// "complete -c reprise -n 'test (__reprise_command) = "reprise list"'".
std::string FishAt(const CommandFacts& command) {
  return fmt::format("complete -c reprise -n 'test (__reprise_command) = \"{}\"'", command.path);
}

std::string FishOption(const CommandFacts& command, const OptionFacts& option) {
  std::string line = FishAt(command);
  for (const std::string& name : option.names) {
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!option.choices.empty()) {
    line += fmt::format(" -x -a '{}'", fmt::join(option.choices, " "));
  } else if (!option.suggestions.empty()) {
    line += fmt::format(" -r -F -a '{}'", fmt::join(option.suggestions, " "));
  } else if (option.needs_value) {
    line += " -r -F";
  }
  return fmt::format("{} -d {}\n", line, QuoteForFish(FirstLine(option.help)));
}

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
      script += FishOption(*command, option);
    }
    for (const CommandFacts& below : command->commands) {
      script += fmt::format("{} -f -a {} -d {}\n", FishAt(*command), below.name,
                            QuoteForFish(FirstLine(below.description)));
    }
    if (const auto words = NextWords(*command); command->commands.empty() && !words.empty()) {
      const bool only = !command->positionals.front().choices.empty();
      script +=
          fmt::format("{} {}-a '{}'\n", FishAt(*command), only ? "-f " : "", fmt::join(words, " "));
    }
  }
  return script;
}

// "_reprise_bench_kernels".
std::string ZshName(const CommandFacts& command) {
  std::string name = "_" + command.path;
  std::ranges::replace(name, ' ', '_');
  return name;
}

// `text` within the brackets or between the colons of a specification.
std::string ZshText(const std::string& text) {
  std::string out;
  for (const char c : FirstLine(text)) {
    out +=
        c == '[' || c == ']' || c == ':' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  }
  return out;
}

std::string QuoteForZsh(const std::string& text) { return SingleQuoted(text, "'\\''"); }

// "(full dry)", "_files", or both.
std::string ZshWords(const OptionFacts& option) {
  if (!option.suggestions.empty()) {
    return fmt::format("{{_alternative \"names:name:({})\" \"files:file:_files\"}}",
                       fmt::join(option.suggestions, " "));
  }
  return option.choices.empty() ? "_files" : fmt::format("({})", fmt::join(option.choices, " "));
}

// ":TEXT:(full dry)" or ":TEXT:_files"; "::" where the value may be left out.
std::string ZshValue(const OptionFacts& option) {
  return option.type.empty()
             ? ""
             : fmt::format("{}{}:{}", option.needs_value ? ":" : "::", ZshText(option.type),
                           ZshWords(option));
}

// The arguments of _arguments, one name of an option a line.
std::string ZshArguments(const CommandFacts& command) {
  std::string text;
  for (const OptionFacts& option : command.options) {
    for (const std::string& name : option.names) {
      const std::string others =
          option.repeats ? "*" : fmt::format("({})", fmt::join(option.names, " "));
      text += fmt::format(" \\\n    {}", QuoteForZsh(others + name + "[" + ZshText(option.help) +
                                                     "]" + ZshValue(option)));
    }
  }
  for (const OptionFacts& positional : command.positionals) {
    text +=
        fmt::format(" \\\n    {}",
                    QuoteForZsh(fmt::format("{}:{}:{}", positional.repeats ? "*" : "",
                                            ZshText(positional.positional), ZshWords(positional))));
  }
  return text;
}

std::string ZshFunction(const CommandFacts& command) {
  if (command.commands.empty()) {
    return fmt::format("{}() {{\n  _arguments -s{}\n}}\n", ZshName(command), ZshArguments(command));
  }
  std::string names;
  std::string cases;
  for (const CommandFacts& below : command.commands) {
    names +=
        fmt::format("\n        {}", QuoteForZsh(below.name + ":" + ZshText(below.description)));
    cases += fmt::format("\n        {}) {} ;;", below.name, ZshName(below));
  }
  return fmt::format(R"({}() {{
  local context state state_descr line
  local -A opt_args
  _arguments -C{} \
    '1:command:->command' '*::argument:->argument'
  case $state in
    command)
      local -a commands=({})
      _describe command commands ;;
    argument)
      case $line[1] in{}
      esac ;;
  esac
}}
)",
                     ZshName(command), ZshArguments(command), names, cases);
}

std::string ZshCompletion(const CommandFacts& program) {
  std::string script = "#compdef reprise\n# printed by: reprise completion zsh\n";
  for (const CommandFacts* command : AllCommands(program)) {
    script += ZshFunction(*command);
  }
  // Called as a function of $fpath, or sourced.
  return script +
         "if [ \"$funcstack[1]\" = _reprise ]; then\n  _reprise \"$@\"\nelse\n"
         "  compdef _reprise reprise\nfi\n";
}

}  // namespace

CommandBody RegisterCompletion(CLI::App& app, const CommandContext& /*context*/) {
  app.description("Print the completion script of a shell");
  auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "shell; in bash: source <(reprise completion bash)")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  return [&app, shell]() -> Result<int> {
    CommandFacts program = DescribeCommands(*app.get_parent());
    AddSuggestions(program);
    fmt::print("{}", *shell == "bash"  ? BashCompletion(program)
                     : *shell == "zsh" ? ZshCompletion(program)
                                       : FishCompletion(program));
    return 0;
  };
}

}  // namespace reprise
