// How fast each phase goes, and what a token of it takes in energy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reprise {

struct Report;
struct Style;

// A phase of a training step, or a kind of pass of inference. Of one step; `time_ns` the mean of a
// rank: its operations of the phase, or the passes from end to end. `tokens` of all ranks that the
// energy is of.
struct PhaseUse {
  std::string name;  // "forward", "prefill"
  std::optional<double> time_ns;
  std::optional<double> tokens;
  std::optional<double> joules;

  [[nodiscard]] std::optional<double> TokensPerSecond() const {
    return tokens && time_ns && *time_ns > 0 ? std::optional(*tokens / *time_ns * 1e9)
                                             : std::nullopt;
  }
  [[nodiscard]] std::optional<double> JoulesPerToken() const {
    return joules && tokens && *tokens > 0 ? std::optional(*joules / *tokens) : std::nullopt;
  }
};

// Those of a step, from the report's times, energy and tokens; most time first. Nothing where
// neither energy nor tokens are known, which would repeat the table of times.
[[nodiscard]] std::vector<PhaseUse> PhaseUsesOf(const Report& report);

// A table; empty for no phases. At most `most` rows.
[[nodiscard]] std::string PhaseUsesText(const Report& report, const Style& style, std::size_t most);

}  // namespace reprise
