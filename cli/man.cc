// reprise man: the manual page, from the same options as --help. `reprise man | man -l -`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/option_tree.h"
#include "core/version.h"

namespace reprise {
namespace {

constexpr std::string_view kBeforeCommands = R"(.SH DESCRIPTION
Reprise takes the execution traces of a PyTorch job, converts them to MLCommons Chakra's .et format and replays them
on any machine: real kernels through OpenCL, real collectives over MPI, in the order and with the overlap of the
original, while it records power, temperature and utilisation.
.PP
A trace set is a directory with one .et file a rank; a run is the directory that replay writes.
.SH EXAMPLES
.EX
reprise convert capture \-o trace
reprise validate trace \-\-timing
mpirun \-n 4 reprise replay trace \-o run
reprise report run
.EE
)";

constexpr std::string_view kAfterCommands = R"(.SH EXIT STATUS
.TP
.B 0
done
.TP
.B 1
a check failed: validation, a transfer's result
.TP
.B 2
wrong usage, or an output that exists (\-\-force replaces it)
.TP
.B 3
a file is damaged, of the wrong kind, or contradicts another
.TP
.B 4
the machine lacks something: a device, memory, a permission
.SH ENVIRONMENT
.TP
.B OCL_ICD_VENDORS
where OpenCL drivers are registered, if not in /etc/OpenCL/vendors; then no other driver is looked for
.TP
.B XDG_CACHE_HOME
where reprise/tuning.json is kept, which tune writes and replay reads; else $HOME/.cache
.SH SEE ALSO
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
  std::string text = fmt::format(".TP\n{}\n{}\n", Title(option), Roff(option.help));
  if (!remarks.empty()) {
    text += Roff(fmt::format("({})", fmt::join(remarks, "; "))) + "\n";
  }
  return text;
}

bool IsHelp(const OptionFacts& option) {
  return !option.names.empty() && option.names.back() == "--help";
}

// Of commands without --help, which is the same for all and among the program's own.
std::string Options(const CommandFacts& command) {
  std::string text;
  std::string group;
  for (const auto* list : {&command.positionals, &command.options}) {
    for (const OptionFacts& option : *list) {
      if (IsHelp(option) && command.path != command.name) {
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
  page += fmt::format("{}.SH OPTIONS\n{}.SH COMMANDS\n", kBeforeCommands, Options(program));
  for (const CommandFacts* command : commands) {
    if (command != &program) {
      page += fmt::format(".SS {}\n{}\n{}", Roff(command->path), Roff(command->description),
                          Options(*command));
    }
  }
  return page + std::string(kAfterCommands);
}

}  // namespace

CommandBody RegisterMan(CLI::App& app, const CommandContext& /*context*/) {
  app.description("print the manual page; reprise man | man -l -");
  return [&app]() -> Result<int> {
    fmt::print("{}", Page(DescribeCommands(*app.get_parent())));
    return 0;
  };
}

}  // namespace reprise
