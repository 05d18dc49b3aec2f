#include "converters/pytorch/meta.h"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "converters/json_split.h"
#include "converters/text_file.h"

namespace reprise::pytorch {

namespace {

std::int64_t UntracedStepNs(const simdjson::dom::element& root) {
  constexpr std::int64_t kWarmUpSteps = 2;
  simdjson::dom::array traced_steps;
  simdjson::dom::array step_seconds;
  if (root["step_seconds"].get(step_seconds) != simdjson::SUCCESS) {
    return -1;
  }
  std::set<std::int64_t> traced;
  if (root["traced_steps"].get(traced_steps) == simdjson::SUCCESS) {
    for (const simdjson::dom::element step : traced_steps) {
      if (std::int64_t number = 0; step.get(number) == simdjson::SUCCESS) {
        traced.insert(number);
      }
    }
  }
  std::vector<double> seconds;
  std::int64_t number = 0;
  for (const simdjson::dom::element step : step_seconds) {
    double value = 0;
    if (number >= kWarmUpSteps && !traced.contains(number) &&
        step.get(value) == simdjson::SUCCESS) {
      seconds.push_back(value);
    }
    ++number;
  }
  if (seconds.empty()) {
    return -1;
  }
  std::sort(seconds.begin(), seconds.end());
  const std::size_t middle = seconds.size() / 2;
  const double median =
      seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
  return std::llround(median * 1e9);
}

std::string MetaText(const simdjson::dom::element& root, std::string_view key) {
  std::string_view text;
  return root[key].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

std::int32_t MetaCount(const simdjson::dom::element& root, std::string_view key) {
  constexpr std::int64_t kMost = 1'000'000;  // more is damage
  std::int64_t count = 0;
  return root[key].get(count) == simdjson::SUCCESS && count > 0 && count <= kMost
             ? static_cast<std::int32_t>(count)
             : 0;
}

}  // namespace

Result<CaptureMeta> ReadMeta(const std::string& path) {
  constexpr std::size_t kMostBytes = 16 << 20;  // some kB are usual
  REPRISE_ASSIGN(const TextFile file, TextFile::Read(path, kMostBytes));
  simdjson::dom::parser parser;
  REPRISE_ASSIGN(const simdjson::dom::element root, ParseElement(parser, file, file.text()));
  CaptureMeta meta{.untraced_step_ns = UntracedStepNs(root), .machine = {}};
  meta.machine.processor = MetaText(root, "processor");
  meta.machine.device = MetaText(root, "device");
  if (const std::string version = MetaText(root, "torch"); !version.empty()) {
    meta.machine.framework = "PyTorch " + version;
  }
  meta.machine.threads = MetaCount(root, "threads");
  meta.machine.cores = MetaCount(root, "cores");
  return meta;
}

}  // namespace reprise::pytorch
