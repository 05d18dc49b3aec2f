// Which part of a run its timeline shows.
#pragma once

#include <cstdint>
#include <optional>

namespace reprise {

struct RunTimelineOptions {
  std::optional<std::int32_t> rank, step, iteration;  // all, if not given
};

[[nodiscard]] inline bool Matches(std::optional<std::int32_t> wanted, std::int32_t value) {
  return !wanted || *wanted == value;
}

}  // namespace reprise
