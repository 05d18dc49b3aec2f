#include "core/records.h"

#include <array>
#include <optional>
#include <string_view>

namespace reprise {
namespace {
constexpr std::array<std::string_view, 4> kModeNames = {"real", "surrogate", "timed", "skip"};
constexpr std::array<std::string_view, 6> kSourceNames = {
    "", "arguments", "counts", "copied_bytes", "message", "unknown"};
constexpr std::array<std::string_view, kTimeSources> kTimeSourceNames = {
    "", "recorded", "scaled", "whole", "fitted", "measured", "datasheet", "default"};
}  // namespace

std::string_view Name(ReplayMode mode) { return kModeNames.at(static_cast<std::size_t>(mode)); }

std::optional<ReplayMode> ParseReplayMode(std::string_view text) {
  for (std::size_t i = 0; i < kModeNames.size(); ++i) {
    if (kModeNames[i] == text) {
      return static_cast<ReplayMode>(i);
    }
  }
  return std::nullopt;
}

std::string_view Name(WorkSource source) {
  return kSourceNames.at(static_cast<std::size_t>(source));
}

std::optional<WorkSource> ParseWorkSource(std::string_view text) {
  for (std::size_t i = 0; i < kSourceNames.size(); ++i) {
    if (kSourceNames[i] == text) {
      return static_cast<WorkSource>(i);
    }
  }
  return std::nullopt;
}

std::string_view Name(TimeSource source) {
  return kTimeSourceNames.at(static_cast<std::size_t>(source));
}

std::optional<TimeSource> ParseTimeSource(std::string_view text) {
  for (std::size_t i = 0; i < kTimeSourceNames.size(); ++i) {
    if (kTimeSourceNames[i] == text) {
      return static_cast<TimeSource>(i);
    }
  }
  return std::nullopt;
}

}  // namespace reprise
