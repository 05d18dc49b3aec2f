#include "core/records.h"

#include <array>
#include <optional>
#include <string_view>

#include "core/enum_names.h"

namespace reprise {
namespace {
constexpr std::array<std::string_view, 4> kModeNames = {"real", "surrogate", "timed", "skip"};
constexpr std::array<std::string_view, 6> kSourceNames = {
    "", "arguments", "counts", "copied_bytes", "message", "unknown"};
constexpr std::array<std::string_view, kTimeSources> kTimeSourceNames = {
    "", "recorded", "scaled", "whole", "fitted", "measured", "datasheet", "default"};
}  // namespace

std::string_view Name(ReplayMode mode) { return NameIn(kModeNames, mode); }
std::optional<ReplayMode> ParseReplayMode(std::string_view text) {
  return ParseName<ReplayMode>(kModeNames, text);
}

std::string_view Name(WorkSource source) { return NameIn(kSourceNames, source); }
std::optional<WorkSource> ParseWorkSource(std::string_view text) {
  return ParseName<WorkSource>(kSourceNames, text);
}

std::string_view Name(TimeSource source) { return NameIn(kTimeSourceNames, source); }
std::optional<TimeSource> ParseTimeSource(std::string_view text) {
  return ParseName<TimeSource>(kTimeSourceNames, text);
}

}  // namespace reprise
