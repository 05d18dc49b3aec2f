// What the user may choose about a replay (docs/definitions.md, "Modes").
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/algorithms/algorithm_choices.h"
#include "core/comm.h"
#include "core/records.h"
#include "core/result.h"
#include "kernels/settings.h"
#include "kernels/tuning.h"
#include "telemetry/sampler.h"

namespace reprise {

// Presets of the two mode tables: full (all real), compute (transfers timed), comm (operations
// timed), dry (nothing runs: the equation on a simulated clock).
enum class ReplayPreset : std::uint8_t { kFull, kCompute, kComm, kDry };
inline constexpr const char* kPresetNames[] = {"full", "compute", "comm", "dry"};

// kUntraced: as recorded, less what tracing took (as the converter estimated), timed operations
// too. kAuto: kUntraced where the traces of all ranks have that estimate, else kKeep (which a
// simulation keeps in any case: it is compared with what was recorded).
enum class HostGaps : std::uint8_t { kKeep, kUntraced, kScale, kDrop, kAuto };

// What becomes of collectives whose group has more or fewer members than recorded
// (docs/parts.md): the whole message stays as recorded, or every member's block of it does.
enum class GroupSizes : std::uint8_t { kKeep, kScale };

struct StreamId {
  std::int32_t device = 0;
  std::int64_t stream = 0;
  bool operator==(const StreamId&) const = default;
};

// Which device a rank uses, by its number among the ranks of its host.
struct DeviceMap {
  enum class Kind : std::uint8_t {
    kDefault,     // GPUs: round-robin over those of the backend; else ReplayOptions::device_index
    kRoundRobin,  // rank 0 → 0, 1 → 1, …, over all devices of the backend
    kPacked,      // neighbours share: the first ⌈ranks / devices⌉ → 0, …
    kListed,
  };
  Kind kind = Kind::kDefault;
  std::map<int, int> device_of;  // kListed
};

// Which part of the set is replayed, and on which ranks (docs/parts.md).
struct PartOptions {
  std::vector<std::int32_t> ranks;         // rank k of the run replays ranks[k]; empty: all
  bool one_trace = false;                  // all ranks of the run replay one recorded rank
  std::optional<std::int32_t> trace_rank;  // which; absent: the lowest that is there
  std::optional<GroupSizes> group_sizes;   // absent: keep with `ranks`, scale with `one_trace`
  std::vector<std::int32_t> steps;         // recorded steps, by index; empty: all
  std::string range;                       // NAME or NAME:K; empty: everything
};

struct ReplayOptions {
  PartOptions part;
  std::vector<StreamId> streams;  // only these device streams execute; empty: all
  ReplayPreset preset = ReplayPreset::kFull;
  ReplayMode default_op_mode = ReplayMode::kReal;
  ReplayMode default_comm_mode = ReplayMode::kReal;
  std::map<OpClass, ReplayMode> op_modes;     // --ops gemm=timed,…
  std::map<CommKind, ReplayMode> comm_modes;  // --comms all_reduce=skip,…
  HostGaps host_gaps = HostGaps::kKeep;
  double host_gap_scale = 1.0;            // with kScale
  double time_scale = 1.0;                // of timed nodes of classes without one of their own
  std::map<OpClass, double> time_scales;  // --time-scale gemm=0.5,comm=2
  double stretch = 1.0;  // at least 1: of executed nodes of host threads, modelled by waiting
  std::map<OpClass, double> stretches;  // --stretch conv=1.3
  std::int32_t warmup = 1;
  std::int32_t iterations = 3;
  bool check = false;            // exactly representable data in every transfer, verified
  bool check_values = false;     // one more iteration, not timed, counts denormals, infinities, NaN
  bool flush_denormals = false;  // computed as zero; the caller has set it for every thread
  bool allow_slow = false;       // run although the estimate is beyond 20× the recorded time
  bool share_memory = false;     // --memory share: storages without overlapping lifetimes may alias
                                 // even across actors; results are then meaningless, times are not
  bool assume_groups = false;    // run although a transfer's group is unknown
  // Chunks in which long transfers pass between a device and the network; 0: whole. Absent: 4 MiB
  // where some rank's device is not its host's CPU, whose tensors need no copy at all.
  std::optional<std::int64_t> staging_chunk_bytes;
  AlgorithmChoices algorithms;      // of collectives; none: the transport's own
  std::string backend;              // Backend::name; the caller chooses (device_choice.h)
  std::optional<int> device_index;  // absent: by device_map
  DeviceMap device_map;
  std::string cache_directory;
  BackendSettings settings;          // of any backends
  std::vector<DeviceTuning> tuning;  // what `reprise tune` measured, of any devices
  std::int64_t watchdog_ns = 60'000'000'000;
  SamplerOptions sampling;  // period_ns 0: none
  // How long nothing runs before the run, so that idle power is known; absent: 2 s where power is
  // measured, else not at all.
  std::optional<std::int64_t> idle_ns;
  std::int64_t until_steady_ns = 0;  // warm up until temperatures settle, at most so long

  [[nodiscard]] ReplayMode ModeOf(OpClass op_class) const;
  [[nodiscard]] ReplayMode ModeOf(CommKind kind) const;
  [[nodiscard]] double TimeScaleOf(OpClass op_class) const;
  [[nodiscard]] double StretchOf(OpClass op_class) const;
  // Factor on delays and host nodes: 1, the scale, or 0.
  [[nodiscard]] double GapFactor() const;
};

// For the manifest: `host_gap_factor` (or "untraced"); `time_scale`, `stretch` where not 1, and
// `time_scale.<class>`, `stretch.<class>` where given.
[[nodiscard]] std::map<std::string, std::string> DescribeTimes(const ReplayOptions& options);

// Sets the modes that a preset stands for; later ParseModes calls refine them.
void ApplyPreset(ReplayPreset preset, ReplayOptions& options);

}  // namespace reprise
