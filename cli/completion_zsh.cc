#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/completion_scripts.h"

namespace reprise {
namespace {

// "_reprise_bench_kernels".
std::string FunctionName(const CommandFacts& command) {
  std::string name = "_" + command.path;
  for (char& c : name) {
    c = c == ' ' ? '_' : c;
  }
  return name;
}

// `text` within the brackets or between the colons of a specification.
std::string Escape(const std::string& text) {
  std::string out;
  for (const char c : FirstLine(text)) {
    out +=
        c == '[' || c == ']' || c == ':' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  }
  return out;
}

std::string QuoteForZsh(const std::string& text) { return QuoteForShell(text, "'\\''"); }

// ":TEXT:(full dry)" or ":TEXT:_files"; "::" where the value may be left out.
std::string ZshValue(const OptionFacts& option) {
  return option.type.empty()
             ? ""
             : fmt::format("{}{}:{}", option.needs_value ? ":" : "::", Escape(option.type),
                           option.choices.empty()
                               ? "_files"
                               : fmt::format("({})", fmt::join(option.choices, " ")));
}

// The arguments of _arguments, one name of an option a line.
std::string Specifications(const CommandFacts& command) {
  std::string text;
  for (const OptionFacts& option : command.options) {
    for (const std::string& name : option.names) {
      const std::string others =
          option.repeats ? "*" : fmt::format("({})", fmt::join(option.names, " "));
      text += fmt::format(" \\\n    {}", QuoteForZsh(others + name + "[" + Escape(option.help) +
                                                     "]" + ZshValue(option)));
    }
  }
  for (const OptionFacts& positional : command.positionals) {
    text += fmt::format(
        " \\\n    {}",
        QuoteForZsh(fmt::format(
            "{}:{}:{}", positional.repeats ? "*" : "", Escape(positional.positional),
            positional.choices.empty() ? "_files"
                                       : fmt::format("({})", fmt::join(positional.choices, " ")))));
  }
  return text;
}

std::string Function(const CommandFacts& command) {
  if (command.commands.empty()) {
    return fmt::format("{}() {{\n  _arguments -s{}\n}}\n", FunctionName(command),
                       Specifications(command));
  }
  std::string names;
  std::string cases;
  for (const CommandFacts& below : command.commands) {
    names += fmt::format("\n        {}", QuoteForZsh(below.name + ":" + Escape(below.description)));
    cases += fmt::format("\n        {}) {} ;;", below.name, FunctionName(below));
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
                     FunctionName(command), Specifications(command), names, cases);
}

}  // namespace

std::string ZshCompletion(const CommandFacts& program) {
  std::string script = "#compdef reprise\n# printed by: reprise completion zsh\n";
  for (const CommandFacts* command : AllCommands(program)) {
    script += Function(*command);
  }
  // Called as a function of $fpath, or sourced.
  return script +
         "if [ \"$funcstack[1]\" = _reprise ]; then\n  _reprise \"$@\"\nelse\n"
         "  compdef _reprise reprise\nfi\n";
}

}  // namespace reprise
