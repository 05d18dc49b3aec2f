#include "converters/pytorch/kineto/counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/text.h"

namespace reprise::pytorch {
namespace {

// By the names of torch/profiler/_cuspy/trace.py. Not kept: what is no quantity of its own ("Cycles
// (Current Kernel)" is a kernel's duration times the clock), and metrics of no known unit.
constexpr std::pair<std::string_view, CounterKind> kCounters[] = {
    {"Power (W)", {SampledQuantity::kPower, 1}},
    {"Temperature (C)", {SampledQuantity::kTemperature, 1}},
    {"SM Clock (MHz)", {SampledQuantity::kSmClock, 1e6}},
    {"Memory Clock (MHz)", {SampledQuantity::kMemoryClock, 1e6}},
    {"Fan Speed (%)", {SampledQuantity::kFanSpeed, 1e-2}},
    {"SM Active (%)", {SampledQuantity::kSmActivity, 1e-2}},
    {"DRAM BW (%)", {SampledQuantity::kMemoryActivity, 1e-2}},
    {"HBM BW (%)", {SampledQuantity::kMemoryActivity, 1e-2}},
    {"HBM Read (%)", {SampledQuantity::kMemoryReads, 1e-2}},
    {"HBM Write (%)", {SampledQuantity::kMemoryWrites, 1e-2}},
    {"PCIe (%)", {SampledQuantity::kPcieActivity, 1e-2}}};

auto PlaceOfSample(const CounterSample& sample) {
  return std::tuple(sample.device, sample.quantity, sample.at_ns);
}

}  // namespace

std::optional<CounterKind> FindCounter(std::string_view name) {
  const auto* const found =
      std::ranges::find(kCounters, name, [](const auto& one) { return one.first; });
  return found == std::end(kCounters) ? std::nullopt : std::optional(found->second);
}

std::optional<std::int32_t> CounterDevice(std::string_view process) {
  constexpr std::string_view kBefore = "GPU ";
  constexpr std::string_view kBehind = " Counters";
  if (!process.starts_with(kBefore) || !process.ends_with(kBehind) ||
      process.size() < kBefore.size() + kBehind.size()) {
    return std::nullopt;
  }
  process.remove_prefix(kBefore.size());
  process.remove_suffix(kBehind.size());
  const auto device = ParseNumber<std::int32_t>(process);
  return device && *device >= 0 ? device : std::nullopt;
}

void SettleCounters(const std::string& path, const std::map<std::string, std::uint64_t>& left_out,
                    std::vector<CounterSample>& samples, Diagnostics& diagnostics) {
  std::ranges::stable_sort(samples, {}, PlaceOfSample);
  samples.erase(std::unique(samples.begin(), samples.end(),
                            [](const CounterSample& a, const CounterSample& b) {
                              return PlaceOfSample(a) == PlaceOfSample(b);
                            }),
                samples.end());
  for (const auto& [name, count] : left_out) {
    diagnostics.Count("counter_left_out", fmt::format("{}: {}", path, name), count);
  }
  if (samples.size() > kMaxSamples) {
    diagnostics.Count("counter_left_out", fmt::format("{}: over {} samples", path, kMaxSamples),
                      samples.size() - kMaxSamples);
    samples.resize(kMaxSamples);
  }
}

std::vector<SampledSeries> SeriesOf(const std::vector<CounterSample>& samples,
                                    std::int64_t base_ns) {
  std::vector<SampledSeries> out;
  for (const CounterSample& sample : samples) {
    if (out.empty() || out.back().quantity != sample.quantity ||
        out.back().device != sample.device) {
      out.push_back({.quantity = sample.quantity, .device = sample.device});
    }
    out.back().times_ns.push_back(sample.at_ns - base_ns);
    out.back().millionths.push_back(sample.millionths);
  }
  return out;
}

}  // namespace reprise::pytorch
