#include "replayer/plan/options.h"

#include <fmt/format.h>

#include <map>

namespace reprise {
namespace {

template <typename Kind, typename Value>
Value ValueOf(const std::map<Kind, Value>& of_kinds, Kind kind, Value of_rest) {
  const auto it = of_kinds.find(kind);
  return it == of_kinds.end() ? of_rest : it->second;
}

}  // namespace

ReplayMode PlanOptions::ModeOf(OpClass op_class) const {
  return ValueOf(op_modes, op_class, default_op_mode);
}

ReplayMode PlanOptions::ModeOf(CommKind kind) const {
  return ValueOf(comm_modes, kind, default_comm_mode);
}

double PlanOptions::TimeScaleOf(OpClass op_class) const {
  return ValueOf(time_scales, op_class, time_scale);
}

double PlanOptions::StretchOf(OpClass op_class) const {
  return ValueOf(stretches, op_class, stretch);
}

double PlanOptions::GapFactor() const {
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

std::map<std::string, std::string> DescribeModes(const PlanOptions& options) {
  std::map<std::string, std::string> text = {
      {"ops", std::string(Name(options.default_op_mode))},
      {"comms", std::string(Name(options.default_comm_mode))}};
  for (const auto& [op_class, mode] : options.op_modes) {
    text[fmt::format("ops.{}", Name(op_class))] = Name(mode);
  }
  for (const auto& [kind, mode] : options.comm_modes) {
    text[fmt::format("comms.{}", Name(kind))] = Name(mode);
  }
  return text;
}

std::map<std::string, std::string> DescribeTimes(const PlanOptions& options) {
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

}  // namespace reprise
