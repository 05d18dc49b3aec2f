#include "cli/limits_option.h"

#include <string>

#include "cli/option_tree.h"
#include "core/input_file.h"

namespace reprise {
namespace {

constexpr const char* kLimitsOption = "--limits";

}  // namespace

void AddLimitsOption(CLI::App& app) {
  static const std::string help =
      "limits on input files: none, or NAME=NUMBER,... with bytes, ratio, nodes_per_byte, depth, "
      "string_bytes, values";
  for (CLI::App* command : app.get_subcommands({})) {
    command->add_option(kLimitsOption, help)->type_name("TEXT")->expected(1);
    AddLimitsOption(*command);
  }
}

Status ApplyLimits(const CLI::App& command) {
  if (const CLI::Option* const option = GivenOption(command, kLimitsOption)) {
    REPRISE_ASSIGN(const InputLimits limits, ParseInputLimits(option->as<std::string>()));
    SetInputLimits(limits);
  }
  return {};
}

}  // namespace reprise
