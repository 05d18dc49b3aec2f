// Stands in for librocm_smi64.so. Numbers: "version", "gpus"; per GPU "0.pci_id", "0.energy", …,
// and the table of amd_table.h.
#include "tests/telemetry/stand_ins/amd_table.h"

namespace {

using reprise::stand_in::FillTable;
using reprise::stand_in::Number;
using reprise::stand_in::Of;
using reprise::stand_in::StatusOf;
using Status = unsigned;

Status Answer(const char* function, std::uint32_t gpu, const char* key, double otherwise,
              std::uint64_t* number) {
  *number = static_cast<std::uint64_t>(Of(static_cast<int>(gpu), key, otherwise));
  return static_cast<Status>(StatusOf(function, static_cast<int>(gpu)));
}

}  // namespace

extern "C" {

Status rsmi_init(std::uint64_t /*flags*/) { return static_cast<Status>(StatusOf("rsmi_init")); }

Status rsmi_shut_down() {
  StandInSet("shutdowns", Number("shutdowns", 0) + 1);
  return 0;
}

Status rsmi_version_get(void* version) {
  const auto major = static_cast<std::uint32_t>(Number("version", 7));
  std::memcpy(version, &major, sizeof(major));
  return 0;
}

Status rsmi_num_monitor_devices(std::uint32_t* count) {
  *count = static_cast<std::uint32_t>(Number("gpus", 1));
  return static_cast<Status>(StatusOf("rsmi_num_monitor_devices"));
}

Status rsmi_dev_pci_id_get(std::uint32_t gpu, std::uint64_t* id) {
  return Answer("rsmi_dev_pci_id_get", gpu, "pci_id", (0x20 + gpu) * 256.0, id);
}

Status rsmi_dev_name_get(std::uint32_t /*gpu*/, char* name, std::size_t length) {
  *fmt::format_to_n(name, length - 1, "Instinct MI250").out = '\0';
  return static_cast<Status>(StatusOf("rsmi_dev_name_get"));
}

Status rsmi_dev_gpu_metrics_info_get(std::uint32_t gpu, void* table) {
  FillTable(static_cast<int>(gpu), table);
  return static_cast<Status>(StatusOf("rsmi_dev_gpu_metrics_info_get", static_cast<int>(gpu)));
}

Status rsmi_dev_energy_count_get(std::uint32_t gpu, std::uint64_t* count, float* microjoules,
                                 std::uint64_t* time_ns) {
  *microjoules = 15.25F;
  *time_ns = 0;
  return Answer("rsmi_dev_energy_count_get", gpu, "energy", 1e6, count);
}

Status rsmi_dev_power_cap_get(std::uint32_t gpu, std::uint32_t /*sensor*/, std::uint64_t* uw) {
  return Answer("rsmi_dev_power_cap_get", gpu, "power_cap", 560e6, uw);
}

Status rsmi_dev_memory_usage_get(std::uint32_t gpu, int /*type*/, std::uint64_t* bytes) {
  return Answer("rsmi_dev_memory_usage_get", gpu, "memory_used", 2e9, bytes);
}

Status rsmi_dev_ecc_count_get(std::uint32_t gpu, std::uint64_t block, void* info) {
  const std::uint64_t errors[] = {block == 1 ? 6ULL : 0ULL, 0};
  std::memcpy(info, errors, sizeof(errors));
  return static_cast<Status>(StatusOf("rsmi_dev_ecc_count_get", static_cast<int>(gpu)));
}

Status rsmi_dev_pci_replay_counter_get(std::uint32_t gpu, std::uint64_t* count) {
  return Answer("rsmi_dev_pci_replay_counter_get", gpu, "pcie_replays", 0, count);
}

}  // extern "C"
