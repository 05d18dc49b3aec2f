#include "replayer/plan/option_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "core/nearest.h"
#include "core/text.h"

namespace reprise {
namespace {

// The pseudo-class of everything that is not named beside it.
bool IsRest(std::string_view key) { return key == "rest" || key == "other"; }

// "VALUE" for all that is not named, "KIND=VALUE,…" for kinds, or both: "0.5,gemm=1".
// `value_of(part, text)`: the value, or why the part has none. `what(key)`: why it is no kind.
template <typename Kind, typename Value, typename ValueOf, typename KindOf, typename What>
Status ParseByKind(std::string_view text, Value& of_rest, std::map<Kind, Value>& of_kinds,
                   const ValueOf& value_of, const KindOf& kind_of, const What& what) {
  for (const std::string_view part : SplitText(text, ',')) {
    const std::size_t equals = part.find('=');
    const bool has_key = equals != std::string_view::npos;
    const std::string_view key = has_key ? part.substr(0, equals) : "";
    REPRISE_ASSIGN(const Value value, value_of(part, has_key ? part.substr(equals + 1) : part));
    if (key.empty() || IsRest(key)) {
      of_rest = value;
    } else if (const std::optional<Kind> kind = kind_of(key)) {
      of_kinds[*kind] = value;
    } else {
      return UsageError(what(key));
    }
  }
  return {};
}

struct FactorFlag {
  const char* name;
  double least, most;
  const char* example;
  const char* note;
};

Status ParseFactors(std::string_view text, const FactorFlag& flag, double& of_rest,
                    std::map<OpClass, double>& by_class) {
  const auto factor_of = [&flag](std::string_view part, std::string_view number) -> Result<double> {
    const auto factor = ParseNumber<double>(number);
    if (!factor || !(*factor >= flag.least && *factor <= flag.most)) {
      return UsageError(
          fmt::format("{}: '{}': expected a factor from {} to {}, or CLASS=FACTOR, e.g. {}",
                      flag.name, part, flag.least, flag.most, flag.example));
    }
    return *factor;
  };
  return ParseByKind(text, of_rest, by_class, factor_of, ParseName<OpClass>,
                     [&](std::string_view key) {
                       return fmt::format(
                           "{}: '{}' is not an operator class{} (`reprise list kernels` shows "
                           "them, {}rest what is "
                           "not named)",
                           flag.name, key, DidYouMean<OpClass>(key), flag.note);
                     });
}

template <typename Kind, typename KindOf, typename What>
Status ParseModes(std::string_view text, const char* flag, ReplayMode& of_rest,
                  std::map<Kind, ReplayMode>& of_kinds, const KindOf& kind_of, const What& what) {
  if (text.empty()) {
    return {};
  }
  if (text.ends_with(',')) {
    text.remove_suffix(1);
  }
  const auto mode_of = [flag](std::string_view /*part*/,
                              std::string_view name) -> Result<ReplayMode> {
    const auto mode = ParseName<ReplayMode>(name);
    if (!mode) {
      return UsageError(
          fmt::format("{}: '{}' is not a mode; expected real, surrogate, timed or skip{}", flag,
                      name, DidYouMean(name, {"real", "surrogate", "timed", "skip"})));
    }
    return *mode;
  };
  return ParseByKind(text, of_rest, of_kinds, mode_of, kind_of, [&](std::string_view key) {
    return fmt::format("{}: '{}' is not {}", flag, key, what(key));
  });
}

}  // namespace

Result<std::vector<std::int32_t>> ParseNumbers(std::string_view text, std::string_view flag) {
  constexpr std::int32_t kMax = 1 << 20;  // a typing error, not a job
  std::vector<std::int32_t> numbers;
  for (const std::string_view part : SplitText(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = ParseNumber<std::int32_t>(part.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : ParseNumber<std::int32_t>(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMax) {
      return UsageError(
          fmt::format("{}: '{}' is no number and no range; expected e.g. 0-3,6", flag, part));
    }
    for (std::int32_t number = *first; number <= *last; ++number) {
      if (std::find(numbers.begin(), numbers.end(), number) != numbers.end()) {
        return UsageError(fmt::format("{}: {} comes twice", flag, number));
      }
      numbers.push_back(number);
    }
  }
  return numbers;
}

Status ParseStreams(std::string_view text, PlanOptions& options) {
  for (const std::string_view part : SplitText(text, ',')) {
    const std::size_t slash = part.find('/');
    const auto device = ParseNumber<std::int32_t>(part.substr(0, slash));
    const auto stream = slash == std::string_view::npos
                            ? std::nullopt
                            : ParseNumber<std::int64_t>(part.substr(slash + 1));
    if (!device || !stream) {
      return UsageError(fmt::format(
          "--streams: '{}' is no stream; expected DEVICE/STREAM, e.g. 0/7 or 0/7,0/20", part));
    }
    options.streams.push_back({*device, *stream});
  }
  return {};
}

Status ParseOpModes(std::string_view text, PlanOptions& options) {
  return ParseModes(text, "--ops", options.default_op_mode, options.op_modes, ParseName<OpClass>,
                    [](std::string_view key) {
                      return fmt::format("an operator class{} (`reprise list kernels` shows them)",
                                         DidYouMean<OpClass>(key));
                    });
}

Status ParseCommModes(std::string_view text, PlanOptions& options) {
  return ParseModes(text, "--comms", options.default_comm_mode, options.comm_modes, ParseCommKind,
                    [](std::string_view key) {
                      return fmt::format("a collective{} (`reprise list collectives` shows them)",
                                         DidYouMean<CommKind>(key));
                    });
}

Status ParseHostGaps(std::string_view text, PlanOptions& options) {
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
  constexpr std::string_view kScale = "scale:";
  const auto factor =
      text.starts_with(kScale) ? ParseNumber<double>(text.substr(kScale.size())) : std::nullopt;
  if (!factor || !(*factor >= 0) || !std::isfinite(*factor)) {
    return UsageError(
        "--host-gaps: expected auto, keep, untraced, drop, or scale with a factor, e.g. "
        "scale:0.5");
  }
  options.host_gaps = HostGaps::kScale;
  options.host_gap_scale = *factor;
  return {};
}

Status ParseTimeScale(std::string_view text, PlanOptions& options) {
  return ParseFactors(text,
                      {"--time-scale", 0, 1e18, "gemm=0.5,comm=2", "comm is every transfer, "},
                      options.time_scale, options.time_scales);
}

Status ParseStretch(std::string_view text, PlanOptions& options) {
  return ParseFactors(text, {"--stretch", 1, 1000, "conv=1.3,norm=1.5", ""}, options.stretch,
                      options.stretches);
}

}  // namespace reprise
