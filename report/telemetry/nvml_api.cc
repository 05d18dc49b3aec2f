#include "report/telemetry/nvml_api.h"

#include <fmt/format.h>

namespace reprise::nvml {

Result<Api> LoadApi(const VendorLibrary& library) {
  Api api;
  RequiredSymbols need(library);
  need("nvmlInit_v2", api.init);
  need("nvmlShutdown", api.shutdown);
  need("nvmlDeviceGetCount_v2", api.device_count);
  need("nvmlDeviceGetHandleByIndex_v2", api.device);
  need("nvmlDeviceGetName", api.name);
  need("nvmlDeviceGetUUID", api.uuid);
  need("nvmlDeviceGetPciInfo_v3", api.pci_info);
  REPRISE_TRY(need.Check("not NVIDIA's library, or a driver too old; install a newer one"));
  library.Find("nvmlErrorString", api.error_string);
  library.Find("nvmlDeviceGetFieldValues", api.field_values);
  library.Find("nvmlDeviceGetPowerUsage", api.power_usage);
  library.Find("nvmlDeviceGetEnforcedPowerLimit", api.enforced_power_limit);
  library.Find("nvmlDeviceGetTotalEnergyConsumption", api.total_energy);
  library.Find("nvmlDeviceGetTemperature", api.temperature);
  library.Find("nvmlDeviceGetClockInfo", api.clock);
  library.Find("nvmlDeviceGetMaxClockInfo", api.max_clock);
  library.Find("nvmlDeviceGetUtilizationRates", api.utilization);
  library.Find("nvmlDeviceGetMemoryInfo", api.memory);
  if (!library.Find("nvmlDeviceGetCurrentClocksEventReasons", api.clock_reasons)) {
    library.Find("nvmlDeviceGetCurrentClocksThrottleReasons", api.clock_reasons);
  }
  library.Find("nvmlDeviceGetViolationStatus", api.violation);
  library.Find("nvmlDeviceGetPcieReplayCounter", api.pcie_replays);
  library.Find("nvmlDeviceGetPerformanceState", api.performance_state);
  library.Find("nvmlDeviceGetHandleByPciBusId_v2", api.device_by_pci);
  library.Find("nvmlDeviceGetNvLinkState", api.nvlink_state);
  library.Find("nvmlDeviceGetNvLinkRemotePciInfo_v2", api.nvlink_remote);
  library.Find("nvmlDeviceGetNvLinkRemoteDeviceType", api.nvlink_remote_type);
  return api;
}

std::string Explain(const Api& api, Return result) {
  std::string text = fmt::format(
      "{} (NVML {})", api.error_string != nullptr ? api.error_string(result) : "failed", result);
  if (result == kDriverNotLoaded) {
    text += ": load the NVIDIA driver, or give the container the GPUs";
  } else if (result == kNoPermission) {
    text += ": ask for read and write access to /dev/nvidiactl and /dev/nvidia<N>";
  } else if (result == kVersionMismatch) {
    text += ": the driver was updated while loaded; reload it or reboot";
  }
  return text;
}

}  // namespace reprise::nvml
