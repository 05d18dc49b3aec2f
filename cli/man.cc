// reprise man: the manual page, from the same options as --help. `reprise man | man -l -`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/examples.h"
#include "cli/manual.h"
#include "cli/option_tree.h"
#include "core/version.h"

namespace reprise {
namespace {

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
  for (const auto* list : {&command.positionals, &command.options}) {
    for (const OptionFacts& option : *list) {
      if (!ManualShows(option, command)) {
        continue;
      }
      // CLI11's own headings of options and positionals say nothing that the names do not.
      if (option.group != group && option.group != "Options" && option.group != "Positionals") {
        text += fmt::format(".PP\n{}\n", Bold(option.group));
      }
      group = option.group;
      text += Entry(option);
    }
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
    std::string usage = Bold(command->path) + " [OPTIONS]";
    for (const OptionFacts& positional : command->positionals) {
      const std::string name = Italic(positional.positional) + (positional.repeats ? " ..." : "");
      usage += positional.required ? " " + name : " [" + name + "]";
    }
    page += usage + "\n.br\n";
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

}  // namespace

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

bool ManualShows(const OptionFacts& option, const CommandFacts& command) {
  const std::string name = option.names.empty() ? "" : option.names.back();
  const bool of_all = name == "--help" || name == "--verbose";
  return !of_all || command.path == command.name;
}

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
