#include "cli/limits_option.h"

#include <string>

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
  const CLI::App* given = &command;
  while (!given->get_subcommands().empty()) {
    given = given->get_subcommands().back();
  }
  for (; given != nullptr; given = given->get_parent()) {
    const CLI::Option* option = given->get_option_no_throw(kLimitsOption);
    if (option != nullptr && option->count() > 0) {
      REPRISE_ASSIGN(const InputLimits limits, ParseInputLimits(option->as<std::string>()));
      SetInputLimits(limits);
      return {};
    }
  }
  return {};
}

}  // namespace reprise
