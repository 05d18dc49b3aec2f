// The table of measurements that AMD SMI hands out, as ROCm SMI did. The declaration is ours; the
// layout is that of rsmi_gpu_metrics_t and amdsmi_gpu_metrics_t in the headers of ROCm 5.0 to 6.3
// and of AMD SMI 26: every release has only appended to it (offsets compared for each), so that an
// older library leaves the end of the caller's memory alone and a newer one writes past it, into
// room that AmdMemory keeps for that.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace reprise {

// What a GPU or its driver does not have is the largest number of the member's type.
struct AmdMetricsTable {
  std::uint16_t structure_size;
  std::uint8_t format_revision;
  std::uint8_t content_revision;
  std::uint16_t temperature_edge;  // degrees Celsius
  std::uint16_t temperature_hotspot;
  std::uint16_t temperature_mem;
  std::uint16_t temperature_vrgfx;
  std::uint16_t temperature_vrsoc;
  std::uint16_t temperature_vrmem;
  std::uint16_t average_gfx_activity;  // percent
  std::uint16_t average_umc_activity;
  std::uint16_t average_mm_activity;
  std::uint16_t average_socket_power;  // watts
  std::uint64_t energy_accumulator;
  std::uint64_t system_clock_counter;
  std::array<std::uint16_t, 7> average_clocks;  // megahertz: gfx, soc, u, v0, d0, v1, d1
  std::uint16_t current_gfxclk;
  std::uint16_t current_socclk;
  std::uint16_t current_uclk;
  std::array<std::uint16_t, 4> current_video_clocks;
  std::uint32_t throttle_status;
  std::uint16_t current_fan_speed;
  std::uint16_t pcie_link_width;
  std::uint16_t pcie_link_speed;
  std::uint32_t gfx_activity_acc;
  std::uint32_t mem_activity_acc;
  std::array<std::uint16_t, 4> temperature_hbm;
  std::uint64_t firmware_timestamp;
  std::array<std::uint16_t, 3> voltages;
  std::uint64_t indep_throttle_status;  // bits of the kernel's amdgpu_smu.h
  std::uint16_t current_socket_power;   // watts
  std::array<std::uint16_t, 4> vcn_activity;
  std::uint32_t gfxclk_lock_status;
  std::uint16_t xgmi_link_width;
  std::uint16_t xgmi_link_speed;
  std::uint64_t pcie_bandwidth_acc;
  std::uint64_t pcie_bandwidth_inst;
  std::uint64_t pcie_l0_to_recov_count_acc;
  std::uint64_t pcie_replay_count_acc;
  std::uint64_t pcie_replay_rover_count_acc;
  std::array<std::uint64_t, 8> xgmi_read_data_acc;  // kilobytes, by link
  std::array<std::uint64_t, 8> xgmi_write_data_acc;
  std::array<std::uint16_t, 8> current_gfxclks;  // in place of current_gfxclk on newer GPUs
  std::array<std::uint16_t, 12> current_other_clocks;
  std::array<std::uint16_t, 32> jpeg_activity;
  std::uint32_t pcie_nak_sent_count_acc;
  std::uint32_t pcie_nak_rcvd_count_acc;
  std::uint64_t accumulation_counter;   // the firmware's cycles
  std::uint64_t prochot_residency_acc;  // those of them in which this limited the clocks
  std::uint64_t ppt_residency_acc;
  std::uint64_t socket_thm_residency_acc;
  std::uint64_t vr_thm_residency_acc;
  std::uint64_t hbm_thm_residency_acc;
};
static_assert(offsetof(AmdMetricsTable, average_socket_power) == 22);
static_assert(offsetof(AmdMetricsTable, current_gfxclk) == 54);
static_assert(offsetof(AmdMetricsTable, throttle_status) == 68);
static_assert(offsetof(AmdMetricsTable, temperature_hbm) == 88);
static_assert(offsetof(AmdMetricsTable, indep_throttle_status) == 112);
static_assert(offsetof(AmdMetricsTable, current_socket_power) == 120);
static_assert(offsetof(AmdMetricsTable, pcie_replay_count_acc) == 168);
static_assert(offsetof(AmdMetricsTable, xgmi_read_data_acc) == 184);
static_assert(offsetof(AmdMetricsTable, current_gfxclks) == 312);
static_assert(offsetof(AmdMetricsTable, accumulation_counter) == 424);
static_assert(offsetof(AmdMetricsTable, hbm_thm_residency_acc) == 464);

// Where a library may write its structures, which grow from release to release: AMD SMI 26's table
// takes under 4 KiB.
class AmdMemory {
 public:
  // All bits set: what the library does not write reads as "does not have".
  void* Cleared() {
    bytes_.fill(0xFF);
    return bytes_.data();
  }
  template <typename Structure>
  [[nodiscard]] Structure As() const {
    static_assert(sizeof(Structure) <= kBytes);
    Structure structure;
    std::memcpy(&structure, bytes_.data(), sizeof(structure));
    return structure;
  }

 private:
  static constexpr std::size_t kBytes = 16384;
  alignas(std::max_align_t) std::array<unsigned char, kBytes> bytes_{};
};

}  // namespace reprise
