// reprise man: the manual page, from the same options as --help (`reprise man | man -l -`), and
// docs/command_line.md, which --markdown prints.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/program/commands.h"
#include "cli/program/examples.h"
#include "cli/program/option_tree.h"
#include "core/version.h"

namespace reprise {
namespace {

struct ManualEntry {
  std::string_view name;
  std::string_view text;
};

constexpr ManualEntry kManualExitCodes[] = {
    {"0", "success"},
    {"1", "a check failed: validation, verification of a transfer, a condition of --fail-if"},
    {"2", "wrong usage, or the output exists (--force replaces it)"},
    {"3", "bad input: a file is damaged, has the wrong format or contradicts another file"},
    {"4", "the machine lacks something: a device, memory, disk space, a permission"},
};

constexpr ManualEntry kManualEnvironment[] = {
    {"OCL_ICD_VENDORS",
     "directory that registers OpenCL drivers (default: /etc/OpenCL/vendors). Where it is set, "
     "Reprise looks for no other driver."},
    {"OMP_NUM_THREADS",
     "compute threads of each rank (default: as recorded on a CPU, and at most the cores of the "
     "host divided by its ranks)"},
    {"XDG_CACHE_HOME",
     "cache directory (default: $HOME/.cache). `reprise tune` writes reprise/tuning.json there, "
     "and `reprise replay` reads it."},
};

// "required; POSITIVE; default: 3"; empty where there is nothing to remark.
std::string ManualRemarks(const OptionFacts& option) {
  std::vector<std::string> remarks;
  if (option.required) {
    remarks.emplace_back("required");
  }
  if (!option.limits.empty()) {
    remarks.push_back(option.limits);
  }
  if (!option.default_value.empty()) {
    remarks.push_back("default: " + option.default_value);
  }
  return fmt::format("{}", fmt::join(remarks, "; "));
}

// Of a command, positionals first. Every command lists --help and --verbose: the manual does so
// once, for the program.
std::vector<const OptionFacts*> ManualOptions(const CommandFacts& command) {
  std::vector<const OptionFacts*> shown;
  for (const auto* list : {&command.positionals, &command.options}) {
    for (const OptionFacts& option : *list) {
      const std::string name = option.names.empty() ? "" : option.names.back();
      if ((name != "--help" && name != "--verbose") || command.path == command.name) {
        shown.push_back(&option);
      }
    }
  }
  return shown;
}

constexpr std::string_view kBeforeCommands = R"(.SH DESCRIPTION
Reprise converts the execution traces of a PyTorch job to MLCommons Chakra's .et format and replays them on any machine.
A replay runs real kernels through OpenCL and real collectives over MPI, in the order and with the overlap of the
original. It records power, temperature and utilisation.
.PP
A trace set is a directory with one .et file for each rank. A run is the directory that replay writes.
)";

constexpr std::string_view kSeeAlso = R"(.SH SEE ALSO
.BR mpirun (1),
.BR srun (1),
/usr/share/doc/reprise
)";

// One code point of `text` from `at` on, which moves past it. The help is in valid UTF-8.
char32_t NextCodePoint(std::string_view text, std::size_t& at) {
  const auto lead = static_cast<unsigned char>(text[at++]);
  const int more = lead < 0xc0 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
  char32_t code = more == 0 ? lead : lead & (0x3fU >> more);
  for (int i = 0; i < more && at < text.size(); ++i) {
    code = code << 6U | (static_cast<unsigned char>(text[at++]) & 0x3fU);
  }
  return code;
}

// Text as roff shows it: hyphens that can be copied, nothing that begins a request, ASCII only.
std::string Roff(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const bool line_start = at == 0 || text[at - 1] == '\n';
    const char32_t code = NextCodePoint(text, at);
    if (code == '\n') {
      out += "\n.br\n";
    } else if (code == '-' || code == '\\') {
      out += code == '-' ? "\\-" : "\\e";
    } else if (code >= 0x80) {
      out += fmt::format("\\[u{:04X}]", static_cast<std::uint32_t>(code));
    } else {
      out += line_start && (code == '.' || code == '\'') ? "\\&" : "";
      out += static_cast<char>(code);
    }
  }
  return out;
}

std::string Bold(const std::string& text) { return "\\fB" + Roff(text) + "\\fR"; }
std::string Italic(const std::string& text) { return "\\fI" + Roff(text) + "\\fR"; }

// "reprise pack [OPTIONS] SET".
std::string Usage(const CommandFacts& command, bool roff) {
  std::string usage = (roff ? Bold(command.path) : command.path) + " [OPTIONS]";
  for (const OptionFacts& positional : command.positionals) {
    const std::string name = (roff ? Italic(positional.positional) : positional.positional) +
                             (positional.repeats ? " ..." : "");
    usage += positional.required ? " " + name : " [" + name + "]";
  }
  return usage;
}

// "-o, --output TEXT", or "SET".
std::string Title(const OptionFacts& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) {
    names.push_back(Bold(name));
  }
  std::string title =
      option.names.empty() ? Italic(option.positional) : fmt::format("{}", fmt::join(names, ", "));
  if (!option.names.empty() && !option.type.empty()) {
    title +=
        " " + Italic(option.choices.empty() ? option.type
                                            : fmt::format("{}", fmt::join(option.choices, "|")));
  }
  return title + (option.repeats ? " ..." : "");
}

std::string Entry(const OptionFacts& option) {
  std::string text = fmt::format(".TP\n{}\n{}\n", Title(option), Roff(option.help));
  if (const std::string remarks = ManualRemarks(option); !remarks.empty()) {
    text += Roff("(" + remarks + ")") + "\n";
  }
  return text;
}

std::string Options(const CommandFacts& command) {
  std::string text;
  std::string group;
  for (const OptionFacts* option : ManualOptions(command)) {
    // CLI11's own headings of options and positionals say nothing that the names do not.
    if (option->group != group && option->group != "Options" && option->group != "Positionals") {
      text += fmt::format(".PP\n{}\n", Bold(option->group));
    }
    group = option->group;
    text += Entry(*option);
  }
  return text;
}

template <std::size_t kCount>
std::string ManualSection(std::string_view heading, const ManualEntry (&entries)[kCount]) {
  std::string text = fmt::format(".SH {}\n", heading);
  for (const ManualEntry& entry : entries) {
    text += fmt::format(".TP\n.B {}\n{}\n", entry.name, Roff(entry.text));
  }
  return text;
}

std::string Examples(const std::string& command_path) {
  std::string text;
  for (const Example& example : ExamplesOf(command_path)) {
    text += fmt::format("{}\n.br\n.RS 4\n{}\n.RE\n", Bold(std::string(example.line)),
                        Roff(example.what));
  }
  return text.empty() ? text : ".PP\n" + text;
}

std::string Page(const CommandFacts& program) {
  std::string page = fmt::format(
      ".TH REPRISE 1 \"\" \"reprise {}\" \"User Commands\"\n.SH NAME\nreprise \\- {}\n"
      ".SH SYNOPSIS\n",
      kVersion, Roff(program.description));
  const std::vector<const CommandFacts*> commands = AllCommands(program);
  for (const CommandFacts* command : commands) {
    if (!command->commands.empty()) {
      continue;  // asks for one of those
    }
    page += Usage(*command, /*roff=*/true) + "\n.br\n";
  }
  page += fmt::format("{}.SH EXAMPLES\n{}.SH OPTIONS\n{}.SH COMMANDS\n", kBeforeCommands,
                      Examples(program.path), Options(program));
  for (const CommandFacts* command : commands) {
    if (command != &program) {
      page += fmt::format(".SS {}\n{}\n{}{}", Roff(command->path), Roff(command->description),
                          Examples(command->path), Options(*command));
    }
  }
  return page + ManualSection("EXIT STATUS", kManualExitCodes) +
         ManualSection("ENVIRONMENT", kManualEnvironment) + std::string(kSeeAlso);
}

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
  for (const OptionFacts* option : ManualOptions(command)) {
    const std::string remarks = ManualRemarks(*option);
    rows += fmt::format("| {} | {}{} |\n", MarkdownTitle(*option), MarkdownCell(option->help),
                        remarks.empty() ? "" : MarkdownCell(" (" + remarks + ")"));
  }
  return rows.empty() ? "" : "| option | meaning |\n|---|---|\n" + rows + "\n";
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

std::string MarkdownManual(const CommandFacts& program) {
  std::string page(kMarkdownIntroduction);
  for (const CommandFacts* command : AllCommands(program)) {
    const bool is_program = command == &program;
    page += fmt::format("## {}\n\n", is_program ? "Options before the command" : command->path);
    if (!is_program) {
      page += command->description + "\n\n";
      if (command->commands.empty()) {
        page += "    " + Usage(*command, /*roff=*/false) + "\n\n";
      }
    }
    page += MarkdownOptions(*command);
  }
  page += MarkdownEntries("Exit codes", "code", kManualExitCodes) + "\n";
  return page + MarkdownEntries("Environment", "variable", kManualEnvironment);
}

}  // namespace

CommandBody RegisterMan(CLI::App& app, const CommandContext& /*context*/) {
  app.description("Print the manual page; read it with: reprise man | man -l -");
  auto markdown = std::make_shared<bool>(false);
  app.add_flag("--markdown", *markdown, "print docs/command_line.md instead");
  return [&app, markdown]() -> Result<int> {
    const CommandFacts program = DescribeCommands(*app.get_parent());
    fmt::print("{}", *markdown ? MarkdownManual(program) : Page(program));
    return 0;
  };
}

}  // namespace reprise
