// Counters that PyTorch's CUDA back end of the profiler samples (2.15: power, clocks, temperature,
// activity).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "converters/pytorch/kineto/kineto.h"
#include "core/diagnostics.h"
#include "et_schema/node.h"

namespace reprise::pytorch {

struct CounterKind {
  SampledQuantity quantity{};
  double per_unit = 1;  // of the quantity's unit
};
// "SM Clock (MHz)"; nothing: it is not kept.
[[nodiscard]] std::optional<CounterKind> FindCounter(std::string_view name);
// 3 of "GPU 3 Counters".
[[nodiscard]] std::optional<std::int32_t> CounterDevice(std::string_view process);

// Sorts; of two of a device, quantity and time keeps the first. Counts what is left out, also
// beyond kMaxSamples (`counter_left_out`).
void SettleCounters(const std::string& path, const std::map<std::string, std::uint64_t>& left_out,
                    std::vector<CounterSample>& samples, Diagnostics& diagnostics);

// Settled samples as a trace has them.
[[nodiscard]] std::vector<SampledSeries> SeriesOf(const std::vector<CounterSample>& samples,
                                                  std::int64_t base_ns);

}  // namespace reprise::pytorch
