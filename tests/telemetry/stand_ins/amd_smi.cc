// Stands in for libamd_smi.so. Numbers: "release", "sockets", "partitions" (GPUs in each socket);
// per GPU (numbered through) "0.energy", …, and the table of amd_table.h.
#include "tests/telemetry/stand_ins/amd_table.h"

namespace {

using reprise::stand_in::FillTable;
using reprise::stand_in::Number;
using reprise::stand_in::Of;
using reprise::stand_in::StatusOf;
using Status = unsigned;
using Handle = void*;

char handles[64];  // of sockets at even places, of GPUs at odd ones

int IndexOf(Handle handle) { return static_cast<int>(static_cast<char*>(handle) - handles) / 2; }

Status Answer(const char* function, Handle gpu, const char* key, double otherwise,
              std::uint64_t* number) {
  *number = static_cast<std::uint64_t>(Of(IndexOf(gpu), key, otherwise));
  return static_cast<Status>(StatusOf(function, IndexOf(gpu)));
}

}  // namespace

extern "C" {

Status amdsmi_init(std::uint64_t flags) {
  return flags == 2 ? static_cast<Status>(StatusOf("amdsmi_init")) : 1;
}

Status amdsmi_shut_down() {
  StandInSet("shutdowns", Number("shutdowns", 0) + 1);
  return 0;
}

Status amdsmi_get_lib_version(void* version) {
  const auto release = static_cast<std::uint32_t>(Number("release", 26));
  std::memcpy(version, &release, sizeof(release));
  return static_cast<Status>(StatusOf("amdsmi_get_lib_version"));
}

Status amdsmi_get_socket_handles(std::uint32_t* count, Handle* sockets) {
  const auto all = static_cast<std::uint32_t>(Number("sockets", 1));
  for (std::uint32_t i = 0; sockets != nullptr && i < *count; ++i) {
    sockets[i] = handles + 2 * i;
  }
  *count = all;
  return static_cast<Status>(StatusOf("amdsmi_get_socket_handles"));
}

Status amdsmi_get_processor_handles(Handle socket, std::uint32_t* count, Handle* processors) {
  const auto all = static_cast<std::uint32_t>(Number("partitions", 1));
  for (std::uint32_t i = 0; processors != nullptr && i < *count; ++i) {
    processors[i] = static_cast<char*>(socket) + 1;
  }
  *count = all;
  return static_cast<Status>(StatusOf("amdsmi_get_processor_handles"));
}

Status amdsmi_get_processor_type(Handle /*gpu*/, int* type) {
  *type = static_cast<int>(Number("processor_type", 1));
  return 0;
}

Status amdsmi_get_gpu_device_bdf(Handle gpu, std::uint64_t* bdf) {
  *bdf = static_cast<std::uint64_t>(0xC0 + IndexOf(gpu)) << 8 | 2U << 3 | 1;  // 0000:c0:02.1
  return static_cast<Status>(StatusOf("amdsmi_get_gpu_device_bdf"));
}

Status amdsmi_get_gpu_device_uuid(Handle gpu, unsigned* length, char* uuid) {
  *fmt::format_to_n(uuid, *length - 1, "eaff7400-0000-1000-80ed-{:012x}", IndexOf(gpu)).out = '\0';
  return static_cast<Status>(StatusOf("amdsmi_get_gpu_device_uuid"));
}

Status amdsmi_get_gpu_asic_info(Handle /*gpu*/, void* info) {
  std::memcpy(info, "AMD Instinct MI300X", 20);
  return static_cast<Status>(StatusOf("amdsmi_get_gpu_asic_info"));
}

Status amdsmi_get_gpu_metrics_info(Handle gpu, void* table) {
  FillTable(IndexOf(gpu), table);
  return static_cast<Status>(StatusOf("amdsmi_get_gpu_metrics_info", IndexOf(gpu)));
}

Status amdsmi_get_energy_count(Handle gpu, std::uint64_t* count, float* microjoules,
                               std::uint64_t* time_ns) {
  *microjoules = 15.25F;
  *time_ns = 0;
  return Answer("amdsmi_get_energy_count", gpu, "energy", 1e6, count);
}

Status amdsmi_get_power_cap_info(Handle gpu, std::uint32_t /*sensor*/, void* info) {
  std::uint64_t cap_uw = 0;
  const Status status = Answer("amdsmi_get_power_cap_info", gpu, "power_cap", 750e6, &cap_uw);
  std::memcpy(info, &cap_uw, sizeof(cap_uw));
  return status;
}

Status amdsmi_get_gpu_memory_usage(Handle gpu, int /*type*/, std::uint64_t* bytes) {
  return Answer("amdsmi_get_gpu_memory_usage", gpu, "memory_used", 3e9, bytes);
}

Status amdsmi_get_clock_info(Handle gpu, int /*type*/, void* info) {
  const std::uint32_t clocks[] = {2000, 132, 2100};
  std::memcpy(info, clocks, sizeof(clocks));
  return static_cast<Status>(StatusOf("amdsmi_get_clock_info", IndexOf(gpu)));
}

Status amdsmi_get_gpu_total_ecc_count(Handle gpu, void* info) {
  const std::uint64_t errors[] = {4, 2, 0};
  std::memcpy(info, errors, sizeof(errors));
  return static_cast<Status>(StatusOf("amdsmi_get_gpu_total_ecc_count", IndexOf(gpu)));
}

Status amdsmi_get_gpu_pci_replay_counter(Handle gpu, std::uint64_t* count) {
  return Answer("amdsmi_get_gpu_pci_replay_counter", gpu, "pcie_replays", 0, count);
}

}  // extern "C"
