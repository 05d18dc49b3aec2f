#include "cli/program/examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "cli/program/option_tree.h"

namespace reprise {
namespace {

constexpr Example kExamples[] = {
#define EXAMPLE(command, line, what) {command, line, what},
#include "cli/program/examples.def"
#undef EXAMPLE
};

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
