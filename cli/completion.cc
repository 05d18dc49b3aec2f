// reprise completion SHELL: what a shell sources to complete commands, options and their values.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/completion_scripts.h"

namespace reprise {

std::string QuoteForShell(const std::string& text, const std::string& quote) {
  std::string out = "'";
  for (const char c : text) {
    out += c == '\'' ? quote : std::string(1, c);
  }
  return out + "'";
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

CommandBody RegisterCompletion(CLI::App& app, const CommandContext& /*context*/) {
  app.description("Print the completion script of a shell");
  auto shell = std::make_shared<std::string>();
  app.add_option("shell", *shell, "shell; in bash: source <(reprise completion bash)")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  return [&app, shell]() -> Result<int> {
    const CommandFacts program = DescribeCommands(*app.get_parent());
    fmt::print("{}", *shell == "bash"  ? BashCompletion(program)
                     : *shell == "zsh" ? ZshCompletion(program)
                                       : FishCompletion(program));
    return 0;
  };
}

}  // namespace reprise
