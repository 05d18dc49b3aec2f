#include "core/phase.h"

#include <algorithm>

namespace reprise {
namespace {

constexpr std::array<std::string_view, kPhases.size()> kNames = {"forward", "backward", "optimizer",
                                                                 "communication", "other"};

}  // namespace

std::string_view Name(Phase phase) { return kNames[static_cast<std::size_t>(phase)]; }

std::optional<Phase> ParsePhase(std::string_view text) {
  const auto* const found = std::find(kNames.begin(), kNames.end(), text);
  return found == kNames.end() ? std::nullopt
                               : std::optional(static_cast<Phase>(found - kNames.begin()));
}

}  // namespace reprise
