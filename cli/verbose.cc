#include "cli/verbose.h"

#include <string>

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

bool IsVerbose(const CLI::App& command) {
  const CLI::App* given = &command;
  while (!given->get_subcommands().empty()) {
    given = given->get_subcommands().back();
  }
  for (; given != nullptr; given = given->get_parent()) {
    if (given->count(kVerboseFlag) > 0) {
      return true;
    }
  }
  return false;
}

}  // namespace reprise
