// What shells source to complete the command line of reprise.
#pragma once

#include <string>

#include "cli/option_tree.h"

namespace reprise {

// `program` is the whole tree. Values are completed where the parser knows all of them; names of
// files elsewhere.
[[nodiscard]] std::string BashCompletion(const CommandFacts& program);
[[nodiscard]] std::string ZshCompletion(const CommandFacts& program);
[[nodiscard]] std::string FishCompletion(const CommandFacts& program);

// `text` between single quotes, as a shell reads it; `quote` is how a single quote itself is
// written there: '\'' in bash and zsh, \' in fish.
[[nodiscard]] std::string QuoteForShell(const std::string& text, const std::string& quote);

// The first line of a help text.
[[nodiscard]] std::string FirstLine(const std::string& text);

}  // namespace reprise
