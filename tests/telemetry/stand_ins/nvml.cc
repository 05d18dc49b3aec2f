// Stands in for libnvidia-ml.so.1. Numbers: "gpus"; per GPU the raw value of each function by its
// metric's name ("0.power_usage"), of each field ("0.field.186.0": field, scope; no number: the
// default below) and its type ("0.field.197.0.type").
#include "report/telemetry/nvml_api.h"
#include "tests/telemetry/stand_ins/script.h"

namespace {

using reprise::nvml::Device;
using reprise::nvml::FieldValue;
using reprise::nvml::Return;
using reprise::stand_in::Number;
using reprise::stand_in::Of;
using reprise::stand_in::StatusOf;

// A handle is an address; these are the GPUs.
char gpu_handles[16];

int IndexOf(Device device) {
  return static_cast<int>(reinterpret_cast<char*>(device) - gpu_handles);
}

template <typename T>
Return Answer(const char* function, Device device, const char* key, double otherwise, T* number) {
  const int gpu = IndexOf(device);
  const Return status = StatusOf(function, gpu);
  if (status == 0) {
    *number = static_cast<T>(Of(gpu, key, otherwise));
  }
  return status;
}

#ifndef STAND_IN_OLD_DRIVER
// What a GPU of the H100's kind answers.
double DefaultField(unsigned field, unsigned scope) {
  static const std::map<std::pair<unsigned, unsigned>, double> kDefaults = {
      {{3, 0}, 5},        {{4, 0}, 1},        {{74, 0}, 1e9},
      {{75, 0}, 2e9},     {{76, 0}, 0},       {{77, 0}, 0},
      {{79, 0}, 0},       {{82, 0}, 55},      {{94, 0}, 7},
      {{138, ~0U}, 1000}, {{139, ~0U}, 2000}, {{185, 0}, 300000},
      {{186, 0}, 400000}, {{186, 2}, 60000},  {{197, 0}, 4294967000.},
      {{198, 0}, 100},    {{269, 0}, 0},      {{270, 0}, 0},
      {{271, 0}, 0}};
  const auto found = kDefaults.find({field, scope});
  return found == kDefaults.end() ? -1 : found->second;
}
#endif

}  // namespace

extern "C" {

Return nvmlInit_v2() { return StatusOf("nvmlInit_v2"); }

Return nvmlShutdown() {
  StandInSet("shutdowns", Number("shutdowns", 0) + 1);
  return 0;
}

const char* nvmlErrorString(Return /*result*/) { return "scripted error"; }

Return nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(Number("gpus", 1));
  return StatusOf("nvmlDeviceGetCount_v2");
}

Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  *device = reinterpret_cast<Device>(gpu_handles + index);
  return StatusOf("nvmlDeviceGetHandleByIndex_v2", static_cast<int>(index));
}

Return nvmlDeviceGetName(Device device, char* name, unsigned length) {
  *fmt::format_to_n(name, length - 1, "Stand-in GPU {}", IndexOf(device)).out = '\0';
  return StatusOf("nvmlDeviceGetName");
}

Return nvmlDeviceGetUUID(Device device, char* uuid, unsigned length) {
  *fmt::format_to_n(uuid, length - 1, "GPU-ABCDEF01-2345-6789-abcd-{:012x}", IndexOf(device)).out =
      '\0';
  return StatusOf("nvmlDeviceGetUUID");
}

Return nvmlDeviceGetPciInfo_v3(Device device, reprise::nvml::PciInfo* pci) {
  *pci = {};
  *fmt::format_to_n(pci->bus_id.data(), 31, "00000000:{:02X}:00.0", IndexOf(device) + 1).out = '\0';
  return StatusOf("nvmlDeviceGetPciInfo_v3");
}

Return nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, Device* device) {
  const int index = std::stoi(std::string(bus_id).substr(5, 2), nullptr, 16) - 1;
  *device = reinterpret_cast<Device>(gpu_handles + index);
  return index < Number("gpus", 1) ? 0 : 6;  // NVML_ERROR_NOT_FOUND
}

#ifndef STAND_IN_OLD_DRIVER
// "0.links": how many the GPU has; "0.link.2": of link 2, 0: down, 1: to GPU 1, 2: to a switch.
Return nvmlDeviceGetNvLinkState(Device device, unsigned link, unsigned* is_up) {
  const int gpu = IndexOf(device);
  if (link >= static_cast<unsigned>(Of(gpu, "links", 0))) {
    return reprise::nvml::kInvalidArgument;
  }
  *is_up = Of(gpu, fmt::format("link.{}", link).c_str(), 1) > 0 ? 1 : 0;
  return StatusOf("nvmlDeviceGetNvLinkState", gpu);
}

Return nvmlDeviceGetNvLinkRemoteDeviceType(Device device, unsigned link, unsigned* type) {
  *type = Of(IndexOf(device), fmt::format("link.{}", link).c_str(), 1) > 1
              ? reprise::nvml::kNvlinkToSwitch
              : 0;
  return 0;
}

Return nvmlDeviceGetNvLinkRemotePciInfo_v2(Device /*device*/, unsigned /*link*/,
                                           reprise::nvml::PciInfo* pci) {
  *pci = {};
  *fmt::format_to_n(pci->bus_id.data(), 31, "00000000:02:00.0").out = '\0';
  return 0;
}
#endif

Return nvmlDeviceGetPowerUsage(Device device, unsigned* milliwatts) {
  return Answer("nvmlDeviceGetPowerUsage", device, "power_usage", 350000, milliwatts);
}

Return nvmlDeviceGetTemperature(Device device, int /*sensor*/, unsigned* celsius) {
  return Answer("nvmlDeviceGetTemperature", device, "temperature", 45, celsius);
}

Return nvmlDeviceGetViolationStatus(Device device, int policy, reprise::nvml::ViolationTime* time) {
  return Answer("nvmlDeviceGetViolationStatus", device, fmt::format("violation.{}", policy).c_str(),
                5e8, &time->violation_ns);
}

Return nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long* reasons) {
  return Answer("nvmlDeviceGetCurrentClocksThrottleReasons", device, "old_reasons", 0x4, reasons);
}

#ifndef STAND_IN_OLD_DRIVER

Return nvmlDeviceGetFieldValues(Device device, int count, FieldValue* values) {
  StandInSet("field_calls", Number("field_calls", 0) + 1);
  const int gpu = IndexOf(device);
  for (int i = 0; i < count; ++i) {
    FieldValue& value = values[i];
    const std::string key = fmt::format("field.{}.{}", value.field, value.scope);
    const double number = Of(gpu, key, DefaultField(value.field, value.scope));
    value.result = static_cast<Return>(Of(gpu, key + ".error", number < 0 ? 3 : 0));
    value.value_type = static_cast<int>(Of(gpu, key + ".type", reprise::nvml::kUnsignedLongLong));
    value.value = {};
    if (value.value_type == reprise::nvml::kDouble) {
      value.value.as_double = number;
    } else if (value.value_type == reprise::nvml::kUnsignedInt) {
      value.value.as_unsigned = static_cast<unsigned>(number);
    } else if (number >= 0) {
      value.value.as_unsigned_long_long = static_cast<unsigned long long>(number);
    }
  }
  return StatusOf("nvmlDeviceGetFieldValues", gpu);
}

Return nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned* milliwatts) {
  return Answer("nvmlDeviceGetEnforcedPowerLimit", device, "power_limit", 700000, milliwatts);
}

Return nvmlDeviceGetTotalEnergyConsumption(Device device, unsigned long long* millijoules) {
  return Answer("nvmlDeviceGetTotalEnergyConsumption", device, "energy", 123456, millijoules);
}

Return nvmlDeviceGetClockInfo(Device device, int type, unsigned* megahertz) {
  return Answer("nvmlDeviceGetClockInfo", device, type == 1 ? "sm_clock" : "memory_clock",
                type == 1 ? 1755 : 2619, megahertz);
}

Return nvmlDeviceGetMaxClockInfo(Device device, int /*type*/, unsigned* megahertz) {
  return Answer("nvmlDeviceGetMaxClockInfo", device, "max_sm_clock", 1980, megahertz);
}

Return nvmlDeviceGetUtilizationRates(Device device, reprise::nvml::Utilization* utilization) {
  (void)Answer("nvmlDeviceGetUtilizationRates", device, "gpu_busy", 90, &utilization->gpu);
  return Answer("nvmlDeviceGetUtilizationRates", device, "memory_busy", 40, &utilization->memory);
}

Return nvmlDeviceGetMemoryInfo(Device device, reprise::nvml::Memory* memory) {
  return Answer("nvmlDeviceGetMemoryInfo", device, "memory_used", 1e9, &memory->used);
}

Return nvmlDeviceGetCurrentClocksEventReasons(Device device, unsigned long long* reasons) {
  return Answer("nvmlDeviceGetCurrentClocksEventReasons", device, "reasons", 0, reasons);
}

Return nvmlDeviceGetPcieReplayCounter(Device device, unsigned* count) {
  return Answer("nvmlDeviceGetPcieReplayCounter", device, "pcie_replays", 9, count);
}

Return nvmlDeviceGetPerformanceState(Device device, int* state) {
  return Answer("nvmlDeviceGetPerformanceState", device, "performance_state", 0, state);
}

#endif

}  // extern "C"
