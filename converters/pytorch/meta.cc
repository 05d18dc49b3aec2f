#include "converters/pytorch/meta.h"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "converters/json_split.h"
#include "converters/text_file.h"

namespace reprise::pytorch {

Result<std::int64_t> ReadUntracedStep(const std::string& path) {
  constexpr std::int64_t kWarmUpSteps = 2;
  REPRISE_ASSIGN(const TextFile file, TextFile::Read(path));
  simdjson::dom::parser parser;
  REPRISE_ASSIGN(const simdjson::dom::element root, ParseElement(parser, file, file.text()));
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

}  // namespace reprise::pytorch
