// The table that both stand-ins for AMD's libraries fill: what an MI300X has, changed by numbers
// "0.table.<member>". "older": what an MI250 has. "old_library": only the members of ROCm 5.
#pragma once

#include <cstring>

#include "report/telemetry/amd_metrics_table.h"
#include "tests/telemetry/stand_ins/script.h"

namespace reprise::stand_in {

inline void FillTable(int gpu, void* memory) {
  AmdMetricsTable table;
  std::memset(&table, 0xFF, sizeof(table));
  table.structure_size = sizeof(table);
  table.format_revision = static_cast<std::uint8_t>(Of(gpu, "table.format_revision", 1));
  table.content_revision = 6;
  const auto set = [gpu](auto& member, const char* name, double otherwise) {
    member = static_cast<std::remove_reference_t<decltype(member)>>(
        Of(gpu, std::string("table.") + name, otherwise));
  };
  set(table.temperature_hotspot, "temperature_hotspot", 61);
  set(table.temperature_mem, "temperature_mem", 52);
  set(table.average_gfx_activity, "average_gfx_activity", 97);
  set(table.average_umc_activity, "average_umc_activity", 33);
  set(table.current_uclk, "current_uclk", 1300);
  if (Number("older", 0) != 0) {
    set(table.temperature_edge, "temperature_edge", 41);
    set(table.average_socket_power, "average_socket_power", 480);
    set(table.current_gfxclk, "current_gfxclk", 1700);
    set(table.indep_throttle_status, "indep_throttle_status", 0);
  } else {
    set(table.current_socket_power, "current_socket_power", 650);
    set(table.current_gfxclks[0], "current_gfxclks0", 2000);
    set(table.current_gfxclks[1], "current_gfxclks1", 2100);
    set(table.xgmi_read_data_acc[0], "xgmi_read0", 10);
    set(table.xgmi_read_data_acc[3], "xgmi_read3", 20);
    set(table.xgmi_write_data_acc[0], "xgmi_write0", 5);
    set(table.accumulation_counter, "accumulation_counter", 1000);
    set(table.prochot_residency_acc, "prochot_residency_acc", 0);
    set(table.ppt_residency_acc, "ppt_residency_acc", 100);
    set(table.socket_thm_residency_acc, "socket_thm_residency_acc", 0);
    set(table.vr_thm_residency_acc, "vr_thm_residency_acc", 0);
    set(table.hbm_thm_residency_acc, "hbm_thm_residency_acc", 0);
  }
  constexpr std::size_t kRocm5Bytes = 96;
  std::memcpy(memory, &table, Number("old_library", 0) != 0 ? kRocm5Bytes : sizeof(table));
}

}  // namespace reprise::stand_in
