#include "core/phase.h"

#include <algorithm>

#include "core/enum_names.h"

namespace reprise {
namespace {

constexpr std::array<std::string_view, kPhases.size()> kNames = {"forward", "backward", "optimizer",
                                                                 "communication", "other"};

}  // namespace

std::string_view Name(Phase phase) { return NameIn(kNames, phase); }

std::optional<Phase> ParsePhase(std::string_view text) { return ParseName<Phase>(kNames, text); }

}  // namespace reprise
