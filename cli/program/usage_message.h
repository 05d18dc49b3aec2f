// What is wrong with a command line, in one line that says what was probably meant.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace reprise {

// For any error of parsing but --help and --version. `program` is the one that parsed.
[[nodiscard]] std::string UsageMessage(const CLI::App& program, const CLI::ParseError& error);

}  // namespace reprise
