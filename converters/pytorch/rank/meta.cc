#include "converters/pytorch/rank/meta.h"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include "converters/json_members.h"
#include "converters/json_split.h"
#include "converters/text_file.h"
#include "core/median.h"
#include "core/metrics.h"
#include "et_schema/header_fields.h"

namespace reprise::pytorch {

namespace {

// What list `key` has for each untraced step without warm-up: of those before the traced ones, and
// of all. Empty without such a list.
struct UntracedValues {
  std::vector<double> before, all;
};

UntracedValues ReadUntraced(const simdjson::dom::element& root, std::string_view key) {
  constexpr std::int64_t kWarmUpSteps = 2;
  UntracedValues values;
  simdjson::dom::array traced_steps;
  simdjson::dom::array steps;
  if (root[key].get(steps) != simdjson::SUCCESS) {
    return values;
  }
  std::set<std::int64_t> traced;
  if (root["traced_steps"].get(traced_steps) == simdjson::SUCCESS) {
    for (const simdjson::dom::element step : traced_steps) {
      if (std::int64_t number = 0; step.get(number) == simdjson::SUCCESS) {
        traced.insert(number);
      }
    }
  }
  std::int64_t number = 0;
  for (const simdjson::dom::element step : steps) {
    double value = 0;
    if (number >= kWarmUpSteps && !traced.contains(number) &&
        step.get(value) == simdjson::SUCCESS) {
      values.all.push_back(value);
      if (traced.empty() || number < *traced.begin()) {
        values.before.push_back(value);
      }
    }
    ++number;
  }
  return values;
}

// PyTorch was built for a GPU, and its profiler traced it.
bool TracedAGpu(const simdjson::dom::element& root) {
  return !TextOr(root["device"]).empty() &&
         (!TextOr(root["cuda"]).empty() || !TextOr(root["hip"]).empty());
}

// A GPU's profiler stays loaded after the traced steps and makes launches longer: a GPT that waits
// for its launches took 80 ms a step before them, and 110 ms after (PyTorch 2.11, H100).
std::int64_t UntracedStepNs(const simdjson::dom::element& root) {
  UntracedValues values = ReadUntraced(root, "step_seconds");
  const bool before_alone = TracedAGpu(root) && !values.before.empty();
  const std::optional<double> median = Median(before_alone ? values.before : values.all);
  return median ? std::llround(*median * 1e9) : -1;
}

// The tracer frees so large blocks that the allocator keeps more afterwards. The mean: steps with
// thousands and steps with none take turns.
std::int64_t UntracedPageFaults(const simdjson::dom::element& root) {
  const UntracedValues values = ReadUntraced(root, "step_page_faults");
  const std::vector<double>& counts = values.before.empty() ? values.all : values.before;
  if (counts.empty()) {
    return -1;
  }
  const double mean =
      std::accumulate(counts.begin(), counts.end(), 0.0) / static_cast<double>(counts.size());
  constexpr double kMax = 1e12;  // more is damage
  return mean >= 0 && mean <= kMax ? std::llround(mean) : -1;
}

std::string MetaText(const simdjson::dom::element& root, std::string_view key) {
  return std::string(TextOr(root[key]));
}

std::int32_t MetaCount(const simdjson::dom::element& root, std::string_view key) {
  constexpr std::int64_t kMax = 1'000'000;  // more is damage
  const std::int64_t count = GetOr(root[key], std::int64_t{0});
  return count > 0 && count <= kMax ? static_cast<std::int32_t>(count) : 0;
}

// False: no value that the field can have.
bool TakePlacement(std::string_view key, const simdjson::dom::element& value, std::string& out) {
  constexpr std::size_t kMaxChars = 4096;  // of link_neighbours; others are shorter
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS || text.size() > kMaxChars) {
    return false;
  }
  if (key == "pci_bus_id") {
    out = NormalizePciBusId(text);
    return !out.empty();
  }
  if (key.ends_with("_numa_nodes") &&
      text.find_first_not_of("0123456789,-") != std::string_view::npos) {
    return false;
  }
  out = text;
  return true;
}

bool TakePlacement(std::string_view /*key*/, const simdjson::dom::element& value,
                   std::int32_t& out) {
  constexpr std::int64_t kMax = 1'000'000;  // more is damage
  std::int64_t number = 0;
  if (value.get(number) != simdjson::SUCCESS || number < 0 || number > kMax) {
    return false;
  }
  out = static_cast<std::int32_t>(number);
  return true;
}

RankPlacement MetaPlacement(const simdjson::dom::element& root, Diagnostics& diagnostics) {
  RankPlacement placement;
  simdjson::dom::element object;
  if (root["placement"].get(object) != simdjson::SUCCESS || object.is_null()) {
    return placement;  // not recorded
  }
  if (!object.is_object()) {
    diagnostics.Count("placement_unreadable", "placement");
    return placement;
  }
  const auto take = [&](std::string_view name, auto& member) {
    const std::string_view key = name.substr(kPlacementPrefix.size());
    simdjson::dom::element value;
    if (object[key].get(value) == simdjson::SUCCESS && !value.is_null() &&
        !TakePlacement(key, value, member)) {
      diagnostics.Count("placement_unreadable", key);
    }
  };
  ForEachMember(kPlacementFields, [&](const auto& row) { take(row.name, row.Of(placement)); });
  return placement;
}

}  // namespace

Result<CaptureMeta> ReadMeta(const std::string& path, Diagnostics& diagnostics) {
  constexpr std::size_t kMaxBytes = 16 << 20;  // some kB are usual
  REPRISE_ASSIGN(const TextFile file, TextFile::Read(path, kMaxBytes));
  simdjson::dom::parser parser;
  REPRISE_ASSIGN(const simdjson::dom::element root, ParseElement(parser, file, file.text()));
  CaptureMeta meta{.untraced_step_ns = UntracedStepNs(root),
                   .untraced_page_faults = UntracedPageFaults(root),
                   .machine = {},
                   .job = MetaText(root, "job"),
                   .placement = MetaPlacement(root, diagnostics)};
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
