// Phases of a training step, to which operations belong (docs/definitions.md, "Phases").
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

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
[[nodiscard]] std::string_view Name(Phase phase);  // "forward", "backward", …
[[nodiscard]] std::optional<Phase> ParsePhase(std::string_view text);

}  // namespace reprise
