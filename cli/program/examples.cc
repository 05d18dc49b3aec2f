#include "cli/program/examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "cli/program/option_tree.h"
#include "core/text.h"

namespace reprise {
namespace {

constexpr Example kExamples[] = {
#define EXAMPLE(command, line, what) {command, line, what},
#include "cli/program/examples.def"
#undef EXAMPLE
};

// Where to break a text that has more columns than `width`: its last blank within them, behind
// `least`. npos: it fits, or there is none.
std::size_t BreakOf(std::string_view text, std::size_t least, std::size_t width) {
  std::size_t columns = 0, last = std::string_view::npos;
  for (std::size_t at = 0; at < text.size(); ++at) {
    columns += (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80 ? 0 : 1;
    if (columns > width) {
      return last;
    }
    last = text[at] == ' ' && at > least ? at : last;
  }
  return std::string_view::npos;
}

// Lines after the first are indented.
std::string WrappedHelpLine(std::string_view line, std::size_t indent) {
  constexpr std::size_t kWidth = 118;
  std::size_t end = BreakOf(line, indent, kWidth);
  std::string wrapped;
  while (end != std::string_view::npos) {
    wrapped += fmt::format("{}\n{}", line.substr(0, end), std::string(indent, ' '));
    line.remove_prefix(end + 1);
    end = BreakOf(line, 0, kWidth - indent);
  }
  return wrapped + std::string(line);
}

class ExamplesFormatter : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_description(const CLI::App* app) const override {
    const std::vector<Example> examples = ExamplesOf(CommandPath(*app));
    std::string text = CLI::Formatter::make_description(app);
    if (examples.empty()) {
      return text;
    }
    std::size_t width = 0;
    for (const Example& example : examples) {
      width = std::max(width, example.line.size());
    }
    text += "\nExamples:\n";
    for (const Example& example : examples) {
      text += fmt::format("  {:<{}}  {}\n", example.line, width, example.what);
    }
    return text + "\n";
  }

  [[nodiscard]] std::string make_help(const CLI::App* app, std::string name,
                                      CLI::AppFormatMode mode) const override {
    const std::string help = CLI::Formatter::make_help(app, std::move(name), mode);
    std::string wrapped;
    for (const std::string_view line : SplitText(help, '\n')) {
      wrapped += wrapped.empty() ? "" : "\n";
      wrapped += WrappedHelpLine(line, line.starts_with("  ") ? get_column_width() : 0);
    }
    return wrapped;
  }
};

}  // namespace

std::vector<Example> ExamplesOf(std::string_view command_path) {
  std::vector<Example> examples;
  std::ranges::copy_if(kExamples, std::back_inserter(examples),
                       [&](const Example& example) { return example.command == command_path; });
  return examples;
}

void ShowExamplesInHelp(CLI::App& app) { app.formatter(std::make_shared<ExamplesFormatter>()); }

}  // namespace reprise
