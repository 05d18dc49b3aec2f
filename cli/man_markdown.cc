// docs/command_line.md, as `reprise man --markdown` prints it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/manual.h"

namespace reprise {
namespace {

constexpr std::string_view kMarkdownIntroduction = R"(# Command line

This page lists all commands and options. The program prints it:
`build/reprise man --markdown > docs/command_line.md` refreshes it. `reprise COMMAND --help` shows the same
texts. [install.md](install.md) describes the manual page and the shell completions.

)";

// Text as a table cell shows it. Code spans keep what they hold, but for the bar.
std::string MarkdownCell(std::string_view text) {
  std::string out;
  bool in_code = false;
  for (const char c : text) {
    in_code = in_code != (c == '`');
    if (c == '\n') {
      out += "<br>";
      continue;
    }
    if (c == '|' || (!in_code && (c == '<' || c == '*'))) {
      out += '\\';
    }
    out += c;
  }
  return out;
}

// "`-o`, `--output` TEXT", or "`SET`".
std::string MarkdownTitle(const OptionFacts& option) {
  if (option.names.empty()) {
    return fmt::format("`{}`{}", option.positional, option.repeats ? " …" : "");
  }
  std::string title = fmt::format("`{}`", fmt::join(option.names, "`, `"));
  if (!option.choices.empty()) {
    title += " " + MarkdownCell(fmt::format("{}", fmt::join(option.choices, "|")));
  } else if (!option.type.empty()) {
    title += " " + MarkdownCell(option.type);
  }
  return title + (option.repeats ? " …" : "");
}

std::string MarkdownOptions(const CommandFacts& command) {
  std::string rows;
  for (const auto* list : {&command.positionals, &command.options}) {
    for (const OptionFacts& option : *list) {
      if (ManualShows(option, command)) {
        const std::string remarks = ManualRemarks(option);
        rows += fmt::format("| {} | {}{} |\n", MarkdownTitle(option), MarkdownCell(option.help),
                            remarks.empty() ? "" : MarkdownCell(" (" + remarks + ")"));
      }
    }
  }
  return rows.empty() ? "" : "| option | meaning |\n|---|---|\n" + rows + "\n";
}

std::string MarkdownUsage(const CommandFacts& command) {
  std::string usage = command.path + " [OPTIONS]";
  for (const OptionFacts& positional : command.positionals) {
    const std::string name = positional.positional + (positional.repeats ? " ..." : "");
    usage += fmt::format(fmt::runtime(positional.required ? " {}" : " [{}]"), name);
  }
  return usage;
}

template <std::size_t kCount>
std::string MarkdownEntries(std::string_view heading, std::string_view name,
                            const ManualEntry (&entries)[kCount]) {
  std::string text = fmt::format("## {}\n\n| {} | meaning |\n|---|---|\n", heading, name);
  for (const ManualEntry& entry : entries) {
    text += fmt::format("| `{}` | {} |\n", entry.name, MarkdownCell(entry.text));
  }
  return text;
}

}  // namespace

std::string MarkdownManual(const CommandFacts& program) {
  std::string page(kMarkdownIntroduction);
  for (const CommandFacts* command : AllCommands(program)) {
    const bool is_program = command == &program;
    page += fmt::format("## {}\n\n", is_program ? "Options before the command" : command->path);
    if (!is_program) {
      page += command->description + "\n\n";
      if (command->commands.empty()) {
        page += "    " + MarkdownUsage(*command) + "\n\n";
      }
    }
    page += MarkdownOptions(*command);
  }
  page += MarkdownEntries("Exit codes", "code", kManualExitCodes) + "\n";
  return page + MarkdownEntries("Environment", "variable", kManualEnvironment);
}

}  // namespace reprise
