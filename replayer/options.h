// What the user may choose about a replay (docs/definitions.md, "Modes").
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/comm.h"
#include "core/records.h"
#include "core/result.h"
#include "kernels/tuning.h"

namespace reprise {

// Presets of the two mode tables: full (all real), compute (transfers timed), comm (operations
// timed), dry (nothing runs: the equation on a simulated clock).
enum class ReplayPreset : std::uint8_t { kFull, kCompute, kComm, kDry };

enum class HostGaps : std::uint8_t { kKeep, kScale, kDrop };

struct ReplayOptions {
  ReplayPreset preset = ReplayPreset::kFull;
  ReplayMode default_op_mode = ReplayMode::kReal;
  ReplayMode default_comm_mode = ReplayMode::kReal;
  std::map<OpClass, ReplayMode> op_modes;     // --ops gemm=timed,…
  std::map<CommKind, ReplayMode> comm_modes;  // --comms all_reduce=skip,…
  HostGaps host_gaps = HostGaps::kKeep;
  double host_gap_scale = 1.0;  // with kScale
  double time_scale = 1.0;      // of timed nodes
  std::int32_t warmup = 1;
  std::int32_t iterations = 3;
  bool check = false;          // exactly representable data in every transfer, verified
  bool allow_slow = false;     // run although the estimate is beyond 20× the recorded time
  bool share_memory = false;   // --memory share: storages without overlapping lifetimes may alias
                               // even across actors; results are then meaningless, times are not
  bool assume_groups = false;  // run although a transfer's group is unknown
  std::string backend = "opencl";
  int device_index = 0;
  std::string cache_directory;
  bool allow_tf32 = false;           // float32 products on tensor cores
  std::vector<DeviceTuning> tuning;  // what `reprise tune` measured, of any devices
  std::int64_t watchdog_ns = 60'000'000'000;
  std::int64_t sample_period_ns = 20'000'000;

  [[nodiscard]] ReplayMode ModeOf(OpClass op_class) const;
  [[nodiscard]] ReplayMode ModeOf(CommKind kind) const;
  // Factor on delays and host nodes: 1, the scale, or 0.
  [[nodiscard]] double GapFactor() const;
};

// Sets the modes that a preset stands for; later ParseModes calls refine them.
void ApplyPreset(ReplayPreset preset, ReplayOptions& options);
// "real" or "gemm=timed,conv=skip" (operator classes) into the table; usage error names what is
// wrong and what is possible.
[[nodiscard]] Status ParseOpModes(std::string_view text, ReplayOptions& options);
[[nodiscard]] Status ParseCommModes(std::string_view text, ReplayOptions& options);
// "keep", "drop", "scale:0.5" (or just "0.5").
[[nodiscard]] Status ParseHostGaps(std::string_view text, ReplayOptions& options);

}  // namespace reprise
