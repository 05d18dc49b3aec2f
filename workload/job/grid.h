// Grids of workloads: published studies' configurations, with all their settings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "workload/description.h"

namespace reprise {

struct GridHardware {
  std::string name;
  std::int64_t ranks = 0;
  std::int64_t memory_bytes = 0;  // of a rank
  std::string machine;            // built in, that describes it
};

struct GridRow {
  std::string name;     // of its set: "llama3-70b_tp8-pp2_cc+act_mb4"
  std::string model;    // its preset
  std::string layout;   // "tp8-pp2", "ep4-tp2-pp1", "tp8-fsdp"
  std::string setting;  // "base", "cc", "act", "cc+act"
  Workload workload;    // complete, not checked
};

struct Grid {
  std::string name;
  GridHardware hardware;
  std::vector<GridRow> rows;
};

// Usage error: no such grid or hardware (with the nearest).
[[nodiscard]] Result<Grid> MakeGrid(const std::string& name, const std::string& hardware);

}  // namespace reprise
