// Why an AMD GPU lowers its clocks, and for how long it did.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "report/telemetry/amd_metrics_table.h"

namespace reprise {

enum AmdLimit : std::uint8_t { kPpt, kSocketThermal, kVrThermal, kHbmThermal, kProchot };
inline constexpr std::size_t kAmdLimits = 5;

// The bits of throttle_reasons: the limits above in their order, then what only older GPUs report.
inline constexpr std::string_view kAmdThrottleReasons =
    "power_cap,socket_thermal,vr_thermal,memory_thermal,prochot,current_limit";

// Newer GPUs (MI300, driver of ROCm 6.3 on) count the cycles of their firmware and those of them
// that each limit took. The library's own call for this (amdsmi_get_violation_status) reads the
// table twice, 100 ms apart; here one reading is compared with the one before.
class AmdThrottling {
 public:
  // Takes in one table, read at `now_ns`.
  void Update(const AmdMetricsTable& table, std::int64_t now_ns);
  // Since the last cycle count that differed; none known yet: none. Older GPUs: their driver's
  // present status. Nothing where the GPU reports neither.
  [[nodiscard]] std::optional<std::uint32_t> reasons() const { return reasons_; }
  // Time lost to a limit since the first table: its share of the cycles, of the time between the
  // readings. Nothing where the GPU does not count.
  [[nodiscard]] std::optional<double> Seconds(AmdLimit limit) const;

 private:
  void UpdateFromCycles(const AmdMetricsTable& table, std::int64_t now_ns);

  std::optional<AmdMetricsTable> last_;  // at the last cycle count that differed
  std::int64_t last_ns_ = 0;
  std::optional<std::uint32_t> reasons_;
  std::array<std::optional<double>, kAmdLimits> seconds_;
};

}  // namespace reprise
