#include "report/telemetry/amd_throttling.h"

#include <algorithm>
#include <limits>

namespace reprise {
namespace {

constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

// By AmdLimit.
std::array<std::uint64_t, kAmdLimits> Residencies(const AmdMetricsTable& table) {
  return {table.ppt_residency_acc, table.socket_thm_residency_acc, table.vr_thm_residency_acc,
          table.hbm_thm_residency_acc, table.prochot_residency_acc};
}

constexpr std::uint64_t Bits(int first, int last) {
  return ((1ULL << (last - first + 1)) - 1) << first;
}

// The kernel's SMU_THROTTLER_* bits (amdgpu_smu.h) of one reason: bits 0-7 power, 16-23 current,
// 32-45 temperatures, 46-47 PROCHOT.
constexpr std::array<std::uint64_t, kAmdLimits + 1> kStatusBits = {
    Bits(0, 7),                                  // power tracking
    Bits(32, 33) | Bits(35, 37) | Bits(42, 43),  // die, edge, hotspot, SoC, liquid
    Bits(38, 39) | Bits(44, 45),                 // voltage regulators
    Bits(34, 34) | Bits(40, 41),                 // memory and its regulators
    Bits(46, 47),                                //
    Bits(16, 23),
};

std::uint32_t ReasonsOfStatus(std::uint64_t status) {
  std::uint32_t reasons = 0;
  for (std::size_t i = 0; i < kStatusBits.size(); ++i) {
    reasons |= (status & kStatusBits[i]) != 0 ? 1U << i : 0U;
  }
  return reasons;
}

}  // namespace

void AmdThrottling::Update(const AmdMetricsTable& table, std::int64_t now_ns) {
  if (table.accumulation_counter != kNone) {
    UpdateFromCycles(table, now_ns);
  } else if (table.indep_throttle_status != kNone) {
    reasons_ = ReasonsOfStatus(table.indep_throttle_status);
  }
}

void AmdThrottling::UpdateFromCycles(const AmdMetricsTable& table, std::int64_t now_ns) {
  const auto now = Residencies(table);
  if (!last_ || table.accumulation_counter < last_->accumulation_counter) {  // first, or reset
    reasons_ = 0;
    for (std::size_t i = 0; i < kAmdLimits; ++i) {
      seconds_[i] = now[i] == kNone ? std::nullopt : std::optional(seconds_[i].value_or(0));
    }
  } else if (table.accumulation_counter == last_->accumulation_counter) {
    return;
  } else {
    const auto before = Residencies(*last_);
    const auto cycles =
        static_cast<double>(table.accumulation_counter - last_->accumulation_counter);
    reasons_ = 0;
    for (std::size_t i = 0; i < kAmdLimits; ++i) {
      if (now[i] == kNone || now[i] <= before[i]) {
        continue;
      }
      *reasons_ |= 1U << i;
      const double share = std::min(1.0, static_cast<double>(now[i] - before[i]) / cycles);
      seconds_[i] = seconds_[i].value_or(0) + share * static_cast<double>(now_ns - last_ns_) * 1e-9;
    }
  }
  last_ = table;
  last_ns_ = now_ns;
}

std::optional<double> AmdThrottling::Seconds(AmdLimit limit) const { return seconds_[limit]; }

}  // namespace reprise
