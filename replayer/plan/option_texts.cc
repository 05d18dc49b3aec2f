#include "replayer/plan/option_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/nearest.h"
#include "core/text.h"

namespace reprise {
namespace {

struct FactorFlag {
  const char* name;
  double least;
  const char* example;
  const char* note;
};

// "0.5", "gemm=0.5,comm=2" or both: "0.5,gemm=1".
Status ParseFactors(std::string_view text, const FactorFlag& flag, double& of_rest,
                    std::map<OpClass, double>& by_class) {
  for (const std::string_view part : SplitText(text, ',')) {
    const std::size_t equals = part.find('=');
    const std::string_view key = equals == std::string_view::npos ? "" : part.substr(0, equals);
    const auto factor =
        ParseNumber<double>(equals == std::string_view::npos ? part : part.substr(equals + 1));
    if (!factor || !(*factor >= flag.least) || !std::isfinite(*factor)) {
      return UsageError(
          fmt::format("{}: '{}': expected a factor of at least {}, or CLASS=FACTOR, e.g. {}",
                      flag.name, part, flag.least, flag.example));
    }
    const auto op_class = ParseName<OpClass>(key);
    if (key.empty() || IsRest(key)) {
      of_rest = *factor;
    } else if (op_class) {
      by_class[*op_class] = *factor;
    } else {
      return UsageError(fmt::format(
          "{}: '{}' is not an operator class{} (`reprise list kernels` shows them, {}rest what is "
          "not named)",
          flag.name, key, DidYouMean<OpClass>(key), flag.note));
    }
  }
  return {};
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

std::string NumbersText(const std::vector<std::int32_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) {
      ++last;
    }
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[i]);
    text += last > i ? fmt::format("-{}", numbers[last]) : "";
    i = last + 1;
  }
  return text;
}

Status ParseStreams(std::string_view text, ReplayOptions& options) {
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

Status ParseTimeScale(std::string_view text, ReplayOptions& options) {
  return ParseFactors(text, {"--time-scale", 0, "gemm=0.5,comm=2", "comm is every transfer, "},
                      options.time_scale, options.time_scales);
}

Status ParseStretch(std::string_view text, ReplayOptions& options) {
  return ParseFactors(text, {"--stretch", 1, "conv=1.3,norm=1.5", ""}, options.stretch,
                      options.stretches);
}

Status ParseDeviceMap(std::string_view text, ReplayOptions& options) {
  DeviceMap& map = options.device_map;
  if (text == "round-robin" || text == "packed") {
    map.kind = text == "packed" ? DeviceMap::Kind::kPacked : DeviceMap::Kind::kRoundRobin;
    return {};
  }
  map.kind = DeviceMap::Kind::kListed;
  for (const std::string_view part : SplitText(text, ',')) {
    const std::size_t colon = part.find(':');
    const auto rank = ParseNumber<int>(part.substr(0, colon));
    const auto device =
        colon == std::string_view::npos ? std::nullopt : ParseNumber<int>(part.substr(colon + 1));
    if (!rank || !device || *rank < 0 || *device < 0) {
      return UsageError(fmt::format(
          "--device-map: '{}': expected round-robin, packed, or LOCAL_RANK:DEVICE,…, e.g. "
          "0:0,1:0,2:1",
          part));
    }
    if (!map.device_of.emplace(*rank, *device).second) {
      return UsageError(fmt::format("--device-map: local rank {} comes twice", *rank));
    }
  }
  return {};
}

}  // namespace reprise
