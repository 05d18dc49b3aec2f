// Phases of a training step, to which operations belong (docs/definitions.md, "Phases").
#pragma once

#include <array>
#include <cstdint>

#include "core/enum_names.h"

namespace reprise {

enum class Phase : std::uint8_t {
  kForward,
  kBackward,  // with what it computes anew (activation recomputation)
  kOptimizer,
  kCommunication,
  kOther,  // none of these, or not known
};
inline constexpr std::array<Phase, 5> kPhases = {
    Phase::kForward, Phase::kBackward, Phase::kOptimizer, Phase::kCommunication, Phase::kOther};
REPRISE_NAMES(Phase, "forward", "backward", "optimizer", "communication", "other");

}  // namespace reprise
