// The part of NVIDIA's management library (libnvidia-ml.so.1) that is used here. The declarations
// are ours: names, numbers and layouts as the NVML API reference gives them (versions 11 to 13,
// whose binary interface only grows; "_v2" and "_v3" are the symbols behind the unsuffixed names).
#pragma once

#include <array>

#include "core/result.h"
#include "report/telemetry/vendor_library.h"

namespace reprise::nvml {

// nvmlReturn_t
using Return = int;
inline constexpr Return kSuccess = 0;
inline constexpr Return kInvalidArgument = 2;  // also: a field that the driver does not know yet
inline constexpr Return kNotSupported = 3;
inline constexpr Return kNoPermission = 4;
inline constexpr Return kDriverNotLoaded = 9;
inline constexpr Return kFunctionNotFound = 13;
inline constexpr Return kGpuIsLost = 15;
inline constexpr Return kVersionMismatch = 18;  // of driver and library

using Device = struct DeviceHandle*;  // nvmlDevice_t

struct PciInfo {  // nvmlPciInfo_t of nvmlDeviceGetPciInfo_v3
  std::array<char, 16> bus_id_legacy;
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  std::array<char, 32> bus_id;  // "00000000:01:00.0"
};
static_assert(sizeof(PciInfo) == 68);

struct Utilization {  // nvmlUtilization_t, percent
  unsigned gpu, memory;
};
struct Memory {  // nvmlMemory_t, bytes
  unsigned long long total, free, used;
};
struct ViolationTime {  // nvmlViolationTime_t, microseconds and nanoseconds
  unsigned long long reference_us, violation_ns;
};

// nvmlValueType_t
enum ValueType : int {
  kDouble = 0,
  kUnsignedInt = 1,
  kUnsignedLong = 2,
  kUnsignedLongLong = 3,
  kSignedLongLong = 4,
  kSignedInt = 5,
  kUnsignedShort = 6,
};
union Value {  // nvmlValue_t
  double as_double;
  int as_int;
  unsigned as_unsigned;
  unsigned long as_unsigned_long;
  unsigned long long as_unsigned_long_long;
  long long as_long_long;
  unsigned short as_unsigned_short;
};
struct FieldValue {  // nvmlFieldValue_t
  unsigned field;
  unsigned scope;
  long long timestamp_us;
  long long latency_us;
  int value_type;
  Return result;
  Value value;
};
static_assert(sizeof(FieldValue) == 40);

// NVML_FI_DEV_*
enum Field : unsigned {
  kNoField = 0,
  kEccCorrected = 3,       // ECC_SBE_VOL_TOTAL
  kEccUncorrected = 4,     // ECC_DBE_VOL_TOTAL
  kPolicyPower = 74,       // PERF_POLICY_*: nanoseconds
  kPolicyThermal = 75,     //
  kPolicySyncBoost = 76,   //
  kPolicyBoardLimit = 77,  //
  kPolicyReliability = 79,
  kMemoryTemperature = 82,  // MEMORY_TEMP
  kPcieReplays = 94,        // PCIE_REPLAY_COUNTER
  kNvlinkTx = 138,          // NVLINK_THROUGHPUT_DATA_TX: KiB
  kNvlinkRx = 139,          // NVLINK_THROUGHPUT_DATA_RX
  kPowerAverage = 185,      // milliwatts, over 1 s
  kPowerInstant = 186,      // milliwatts
  kPcieTx = 197,            // PCIE_COUNT_TX_BYTES: "can be wrapped"
  kPcieRx = 198,            // PCIE_COUNT_RX_BYTES
  kSwThermalTime = 269,     // CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN: nanoseconds
  kHwThermalTime = 270,     // CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN
  kPowerBrakeTime = 271,    // CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN
};
inline constexpr unsigned kScopeGpu = 0;                // NVML_POWER_SCOPE_GPU
inline constexpr unsigned kScopeMemory = 2;             // NVML_POWER_SCOPE_MEMORY
inline constexpr unsigned kScopeAllLinks = 0xFFFFFFFF;  // UINT_MAX: the sum over all NVLinks

inline constexpr int kTemperatureGpu = 0;  // nvmlTemperatureSensors_t
inline constexpr int kClockSm = 1;         // nvmlClockType_t
inline constexpr int kClockMemory = 2;

// nvmlClocksEventReasons (formerly nvmlClocksThrottleReasons)
enum ClockReason : unsigned long long {
  kReasonIdle = 0x1,
  kReasonApplicationsClocks = 0x2,
  kReasonPowerCap = 0x4,
  kReasonHwSlowdown = 0x8,
  kReasonSyncBoost = 0x10,
  kReasonSwThermal = 0x20,
  kReasonHwThermal = 0x40,
  kReasonHwPowerBrake = 0x80,
  kReasonDisplayClocks = 0x100,
};

inline constexpr unsigned kNvlinkToSwitch = 2;  // NVML_NVLINK_DEVICE_TYPE_SWITCH

// Null: the driver has no such function (only those after the blank line may be).
struct Api {
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  Return (*device_count)(unsigned*) = nullptr;
  Return (*device)(unsigned index, Device*) = nullptr;
  Return (*name)(Device, char*, unsigned length) = nullptr;
  Return (*uuid)(Device, char*, unsigned length) = nullptr;
  Return (*pci_info)(Device, PciInfo*) = nullptr;

  const char* (*error_string)(Return) = nullptr;
  Return (*field_values)(Device, int count, FieldValue*) = nullptr;
  Return (*power_usage)(Device, unsigned* milliwatts) = nullptr;
  Return (*enforced_power_limit)(Device, unsigned* milliwatts) = nullptr;
  Return (*total_energy)(Device, unsigned long long* millijoules) = nullptr;
  Return (*temperature)(Device, int sensor, unsigned* celsius) = nullptr;
  Return (*clock)(Device, int type, unsigned* megahertz) = nullptr;
  Return (*max_clock)(Device, int type, unsigned* megahertz) = nullptr;
  Return (*utilization)(Device, Utilization*) = nullptr;
  Return (*memory)(Device, Memory*) = nullptr;
  Return (*clock_reasons)(Device, unsigned long long*) = nullptr;
  Return (*violation)(Device, int policy, ViolationTime*) = nullptr;
  Return (*pcie_replays)(Device, unsigned*) = nullptr;
  Return (*performance_state)(Device, int*) = nullptr;
  Return (*device_by_pci)(const char* bus_id, Device*) = nullptr;
  Return (*nvlink_state)(Device, unsigned link, unsigned* is_up) = nullptr;
  Return (*nvlink_remote)(Device, unsigned link, PciInfo*) = nullptr;
  Return (*nvlink_remote_type)(Device, unsigned link, unsigned* type) = nullptr;
};

// The error names the symbol that an old driver lacks.
Result<Api> LoadApi(const VendorLibrary& library);
// "name (code)", and what to do where that is known.
std::string Explain(const Api& api, Return result);

}  // namespace reprise::nvml
