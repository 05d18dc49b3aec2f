#include "cli/verbose.h"

#include <string>

#include "cli/option_tree.h"

namespace reprise {
namespace {

constexpr const char* kVerboseFlag = "--verbose";

}  // namespace

void AddVerboseFlags(CLI::App& app) {
  static const std::string kHelp = "print details of ranks and files, and more messages on stderr";
  app.add_flag(std::string("-v,") + kVerboseFlag, kHelp);
  for (CLI::App* command : app.get_subcommands({})) {
    AddVerboseFlags(*command);
  }
}

bool IsVerbose(const CLI::App& command) { return GivenOption(command, kVerboseFlag) != nullptr; }

}  // namespace reprise
