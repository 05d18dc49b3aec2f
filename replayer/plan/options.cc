#include "replayer/plan/options.h"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "core/nearest.h"
#include "core/text.h"
#include "replayer/plan/option_texts.h"

namespace reprise {
namespace {

// "MODE" for all others, "KIND=MODE,…" for kinds, or both. `what`: what
// a key should be.
template <typename Kind>
Status ParseModes(std::string_view text, const char* flag, ReplayMode& of_rest,
                  std::map<Kind, ReplayMode>& of_kinds,
                  std::optional<Kind> (*parse)(std::string_view),
                  std::string (*what)(std::string_view)) {
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    const std::size_t equals = item.find('=');
    const std::string_view key = equals == std::string_view::npos ? "" : item.substr(0, equals);
    const std::string_view mode_text =
        equals == std::string_view::npos ? item : item.substr(equals + 1);
    const auto mode = ParseName<ReplayMode>(mode_text);
    if (!mode) {
      return UsageError(
          fmt::format("{}: '{}' is not a mode; expected real, surrogate, timed or skip{}", flag,
                      mode_text, DidYouMean(mode_text, {"real", "surrogate", "timed", "skip"})));
    }
    if (key.empty() || IsRest(key)) {
      of_rest = *mode;
    } else if (const auto kind = parse(key)) {
      of_kinds[*kind] = *mode;
    } else {
      return UsageError(fmt::format("{}: '{}' is not {}", flag, key, what(key)));
    }
  }
  return {};
}

}  // namespace

ReplayMode ReplayOptions::ModeOf(OpClass op_class) const {
  const auto it = op_modes.find(op_class);
  return it == op_modes.end() ? default_op_mode : it->second;
}

ReplayMode ReplayOptions::ModeOf(CommKind kind) const {
  const auto it = comm_modes.find(kind);
  return it == comm_modes.end() ? default_comm_mode : it->second;
}

double ReplayOptions::TimeScaleOf(OpClass op_class) const {
  const auto it = time_scales.find(op_class);
  return it == time_scales.end() ? time_scale : it->second;
}

double ReplayOptions::StretchOf(OpClass op_class) const {
  const auto it = stretches.find(op_class);
  return it == stretches.end() ? stretch : it->second;
}

double ReplayOptions::GapFactor() const {
  switch (host_gaps) {
    case HostGaps::kKeep:
    case HostGaps::kUntraced:
    case HostGaps::kAuto:
      return 1.0;
    case HostGaps::kScale:
      return host_gap_scale;
    case HostGaps::kDrop:
      return 0.0;
  }
  return 1.0;
}

std::map<std::string, std::string> DescribeTimes(const ReplayOptions& options) {
  std::map<std::string, std::string> text;
  text["host_gap_factor"] = options.host_gaps == HostGaps::kUntraced
                                ? "untraced"
                                : fmt::format("{}", options.GapFactor());
  const auto describe = [&text](const char* name, double factor,
                                const std::map<OpClass, double>& by_class) {
    if (factor != 1.0) {
      text[name] = fmt::format("{}", factor);
    }
    for (const auto& [op_class, own_factor] : by_class) {
      text[fmt::format("{}.{}", name, Name(op_class))] = fmt::format("{}", own_factor);
    }
  };
  describe("time_scale", options.time_scale, options.time_scales);
  describe("stretch", options.stretch, options.stretches);
  return text;
}

void ApplyPreset(ReplayPreset preset, ReplayOptions& options) {
  options.preset = preset;
  options.default_op_mode = preset == ReplayPreset::kComm ? ReplayMode::kTimed : ReplayMode::kReal;
  options.default_comm_mode =
      preset == ReplayPreset::kCompute ? ReplayMode::kTimed : ReplayMode::kReal;
}

Status ParseOpModes(std::string_view text, ReplayOptions& options) {
  return ParseModes<OpClass>(text, "--ops", options.default_op_mode, options.op_modes,
                             ParseName<OpClass>, [](std::string_view key) {
                               return fmt::format(
                                   "an operator class{} (`reprise list kernels` shows them)",
                                   DidYouMean<OpClass>(key));
                             });
}

Status ParseCommModes(std::string_view text, ReplayOptions& options) {
  return ParseModes<CommKind>(text, "--comms", options.default_comm_mode, options.comm_modes,
                              ParseCommKind, [](std::string_view key) {
                                return fmt::format(
                                    "a collective{} (`reprise list collectives` shows them)",
                                    DidYouMean<CommKind>(key));
                              });
}

Status ParseHostGaps(std::string_view text, ReplayOptions& options) {
  constexpr std::pair<std::string_view, HostGaps> kNames[] = {{"auto", HostGaps::kAuto},
                                                              {"keep", HostGaps::kKeep},
                                                              {"untraced", HostGaps::kUntraced},
                                                              {"drop", HostGaps::kDrop}};
  for (const auto& [name, gaps] : kNames) {
    if (text == name) {
      options.host_gaps = gaps;
      return {};
    }
  }
  constexpr std::string_view kScale = "scale";
  if (text.starts_with(kScale)) {
    text.remove_prefix(std::min(text.size(), kScale.size() + 1));
  }
  const auto factor = ParseNumber<double>(text);
  if (!factor || *factor < 0) {
    return UsageError(
        "--host-gaps: expected auto, keep, untraced, drop, or scale with a factor, e.g. "
        "scale:0.5");
  }
  options.host_gaps = HostGaps::kScale;
  options.host_gap_scale = *factor;
  return {};
}

}  // namespace reprise
