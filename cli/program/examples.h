// Command lines that work, at the top of --help and in the manual page.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

struct Example {
  std::string_view command;  // its path: "reprise bench kernels"
  std::string_view line;     // as it is typed
  std::string_view what;     // what it does
};

// Empty where the command has none.
[[nodiscard]] std::vector<Example> ExamplesOf(std::string_view command_path);

// Makes --help of `app` and all commands registered after it begin with its examples.
void ShowExamplesInHelp(CLI::App& app);

}  // namespace reprise
