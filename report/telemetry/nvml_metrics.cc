#include "report/telemetry/nvml_metrics.h"

#include <array>

namespace reprise::nvml {
namespace {

// A call that fills one number: Api::*kFunction(device, arguments..., &number).
template <typename Number, auto kFunction, auto... kArguments>
Return ReadNumber(const Api& api, Device device, double* raw) {
  if (api.*kFunction == nullptr) {
    return kFunctionNotFound;
  }
  Number number = 0;
  const Return result = (api.*kFunction)(device, kArguments..., &number);
  *raw = static_cast<double>(number);
  return result;
}

// A call that fills a structure, of which one member counts.
template <typename Structure, auto kFunction, auto kMember, auto... kArguments>
Return ReadMember(const Api& api, Device device, double* raw) {
  if (api.*kFunction == nullptr) {
    return kFunctionNotFound;
  }
  Structure structure{};
  const Return result = (api.*kFunction)(device, kArguments..., &structure);
  *raw = static_cast<double>(structure.*kMember);
  return result;
}

// What lowers the clocks; bit i of the metric is bit i + 2 of NVML.
constexpr const char* kThrottleReasons =
    "power_cap,hw_slowdown,sync_boost,sw_thermal,hw_thermal,hw_power_brake";
constexpr int kFirstThrottleBit = 2;
constexpr unsigned long long kThrottleMask = kReasonPowerCap | kReasonHwSlowdown |
                                             kReasonSyncBoost | kReasonSwThermal |
                                             kReasonHwThermal | kReasonHwPowerBrake;

Return ReadThrottleReasons(const Api& api, Device device, double* raw) {
  double reasons = 0;
  const Return result = ReadNumber<unsigned long long, &Api::clock_reasons>(api, device, &reasons);
  *raw = static_cast<double>((static_cast<unsigned long long>(reasons) & kThrottleMask) >>
                             kFirstThrottleBit);
  return result;
}

// Why clocks are as they are without being throttled.
constexpr const char* kClockSettings = "idle,applications_clocks,display_clocks";

Return ReadClockSettings(const Api& api, Device device, double* raw) {
  double reasons = 0;
  const Return result = ReadNumber<unsigned long long, &Api::clock_reasons>(api, device, &reasons);
  const auto bits = static_cast<unsigned long long>(reasons);
  *raw = ((bits & kReasonIdle) != 0 ? 1 : 0) + ((bits & kReasonApplicationsClocks) != 0 ? 2 : 0) +
         ((bits & kReasonDisplayClocks) != 0 ? 4 : 0);
  return result;
}

template <int kPolicy>  // nvmlPerfPolicyType_t
constexpr auto kReadViolation =
    &ReadMember<ViolationTime, &Api::violation, &ViolationTime::violation_ns, kPolicy>;
constexpr auto kReadPowerUsage = &ReadNumber<unsigned, &Api::power_usage>;
constexpr auto kReadPowerLimit = &ReadNumber<unsigned, &Api::enforced_power_limit>;
constexpr auto kReadEnergy = &ReadNumber<unsigned long long, &Api::total_energy>;
constexpr auto kReadTemperature = &ReadNumber<unsigned, &Api::temperature, kTemperatureGpu>;
constexpr auto kReadSmClock = &ReadNumber<unsigned, &Api::clock, kClockSm>;
constexpr auto kReadMemoryClock = &ReadNumber<unsigned, &Api::clock, kClockMemory>;
constexpr auto kReadMaxSmClock = &ReadNumber<unsigned, &Api::max_clock, kClockSm>;
constexpr auto kReadGpuBusy = &ReadMember<Utilization, &Api::utilization, &Utilization::gpu>;
constexpr auto kReadMemoryBusy = &ReadMember<Utilization, &Api::utilization, &Utilization::memory>;
constexpr auto kReadMemoryUsed = &ReadMember<Memory, &Api::memory, &Memory::used>;
constexpr auto kReadPcieReplays = &ReadNumber<unsigned, &Api::pcie_replays>;
constexpr auto kReadPerformanceState = &ReadNumber<int, &Api::performance_state>;

constexpr MetricKind kGauge = MetricKind::kGauge;
constexpr MetricKind kCounter = MetricKind::kCounter;
constexpr double kMilli = 1e-3;
constexpr double kNano = 1e-9;
constexpr double kMega = 1e6;
constexpr double kPercent = 1e-2;
constexpr double kKibi = 1024;
constexpr std::uint64_t k32Bits = 1ULL << 32;

constexpr std::array kSpecs = std::to_array<MetricSpec>({
    {"power", "watts", kGauge, kMilli, kPowerInstant, kScopeGpu, kReadPowerUsage,
     "power now; where the driver has no instant power, its own average"},
    {"average_power", "watts", kGauge, kMilli, kPowerAverage, kScopeGpu, nullptr,
     "power, mean of the last second"},
    {"memory_power", "watts", kGauge, kMilli, kPowerInstant, kScopeMemory, nullptr,
     "power of the memory now, part of the GPU's"},
    {"power_limit", "watts", kGauge, kMilli, kNoField, 0, kReadPowerLimit,
     "power limit in force, whoever set it"},
    {"gpu_energy", "joules", MetricKind::kEnergy, kMilli, kNoField, 0, kReadEnergy,
     "energy of the GPU and its memory since sampling began"},
    {"temperature", "celsius", kGauge, 1, kNoField, 0, kReadTemperature, "temperature of the die"},
    {"memory_temperature", "celsius", kGauge, 1, kMemoryTemperature, 0, nullptr,
     "temperature of the memory"},
    {"sm_clock", "hertz", kGauge, kMega, kNoField, 0, kReadSmClock, "clock of the SMs now"},
    {"memory_clock", "hertz", kGauge, kMega, kNoField, 0, kReadMemoryClock, "memory clock now"},
    {"max_sm_clock", "hertz", kGauge, kMega, kNoField, 0, kReadMaxSmClock,
     "highest clock that the SMs can have"},
    {"utilization", "fraction", kGauge, kPercent, kNoField, 0, kReadGpuBusy,
     "share of the driver's last sample period in which a kernel ran"},
    {"memory_utilization", "fraction", kGauge, kPercent, kNoField, 0, kReadMemoryBusy,
     "share of the driver's last sample period in which memory was read or written"},
    {"memory_used", "bytes", kGauge, 1, kNoField, 0, kReadMemoryUsed,
     "memory allocated or reserved"},
    {"throttle_reasons", "count", MetricKind::kState, 1, kNoField, 0, &ReadThrottleReasons,
     "what lowers the clocks now", kThrottleReasons},
    {"clock_settings", "count", MetricKind::kState, 1, kNoField, 0, &ReadClockSettings,
     "what sets the clocks without throttling", kClockSettings},
    {"throttle_power_time", "seconds", kCounter, kNano, kPolicyPower, 0, kReadViolation<0>,
     "time below application clocks because of the power cap"},
    {"throttle_thermal_time", "seconds", kCounter, kNano, kPolicyThermal, 0, kReadViolation<1>,
     "time below application clocks because of temperature"},
    {"throttle_sync_boost_time", "seconds", kCounter, kNano, kPolicySyncBoost, 0, kReadViolation<2>,
     "time below application clocks because of a sync boost group"},
    {"throttle_board_limit_time", "seconds", kCounter, kNano, kPolicyBoardLimit, 0,
     kReadViolation<3>, "time below application clocks because of the board's limit"},
    {"throttle_reliability_time", "seconds", kCounter, kNano, kPolicyReliability, 0,
     kReadViolation<5>, "time below application clocks because of the board's reliability limit"},
    {"throttle_sw_thermal_time", "seconds", kCounter, kNano, kSwThermalTime, 0, nullptr,
     "time in software thermal slowdown"},
    {"throttle_hw_thermal_time", "seconds", kCounter, kNano, kHwThermalTime, 0, nullptr,
     "time in hardware thermal slowdown"},
    {"throttle_power_brake_time", "seconds", kCounter, kNano, kPowerBrakeTime, 0, nullptr,
     "time in hardware slowdown by the external power brake"},
    {"pcie_tx", "bytes", kCounter, 1, kPcieTx, 0, nullptr, "sent over PCIe", "", k32Bits},
    {"pcie_rx", "bytes", kCounter, 1, kPcieRx, 0, nullptr, "received over PCIe", "", k32Bits},
    {"nvlink_tx", "bytes", kCounter, kKibi, kNvlinkTx, kScopeAllLinks, nullptr,
     "payload sent over all NVLinks"},
    {"nvlink_rx", "bytes", kCounter, kKibi, kNvlinkRx, kScopeAllLinks, nullptr,
     "payload received over all NVLinks"},
    {"ecc_corrected", "count", kCounter, 1, kEccCorrected, 0, nullptr,
     "memory errors that were corrected"},
    {"ecc_uncorrected", "count", kCounter, 1, kEccUncorrected, 0, nullptr,
     "memory errors that could not be corrected"},
    {"pcie_replays", "count", kCounter, 1, kPcieReplays, 0, kReadPcieReplays,
     "packets that PCIe had to send again"},
    {"performance_state", "count", kGauge, 1, kNoField, 0, kReadPerformanceState,
     "P-state: 0 is the fastest, 15 the slowest"},
});

}  // namespace

std::span<const MetricSpec> MetricSpecs() { return kSpecs; }

double RawValue(const FieldValue& field) {
  switch (field.value_type) {
    case kDouble:
      return field.value.as_double;
    case kUnsignedInt:
      return field.value.as_unsigned;
    case kUnsignedLong:
      return static_cast<double>(field.value.as_unsigned_long);
    case kUnsignedLongLong:
      return static_cast<double>(field.value.as_unsigned_long_long);
    case kSignedLongLong:
      return static_cast<double>(field.value.as_long_long);
    case kSignedInt:
      return field.value.as_int;
    case kUnsignedShort:
      return field.value.as_unsigned_short;
    default:
      return kNoReading;
  }
}

bool IsUnsupported(Return result) {
  return result == kNotSupported || result == kInvalidArgument || result == kFunctionNotFound;
}

}  // namespace reprise::nvml
