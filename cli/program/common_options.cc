#include "cli/program/common_options.h"

#include <string>

#include "cli/program/option_tree.h"
#include "core/input_file.h"

namespace reprise {

void AddCommonOptions(CLI::App& app) {
  static const std::string verbose =
      "print details of ranks and files, and more messages on stderr";
  static const std::string limits =
      "limits on inputs: none, or NAME=NUMBER,... with " + InputLimitNames();
  app.add_flag("-v,--verbose", verbose);
  if (app.get_parent() != nullptr) {
    app.add_option("--limits", limits)->type_name("TEXT")->expected(1);
  }
  for (CLI::App* command : app.get_subcommands({})) {
    AddCommonOptions(*command);
  }
}

bool IsVerbose(const CLI::App& command) { return GivenOption(command, "--verbose") != nullptr; }

Status ApplyLimits(const CLI::App& command) {
  if (const CLI::Option* const option = GivenOption(command, "--limits")) {
    REPRISE_ASSIGN(const InputLimits limits, ParseInputLimits(option->as<std::string>()));
    SetInputLimits(limits);
  }
  return {};
}

}  // namespace reprise
