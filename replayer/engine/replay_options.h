// What the user may choose about a replay (docs/definitions.md, "Modes").
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/algorithms/algorithm_choices.h"
#include "core/result.h"
#include "kernels/settings.h"
#include "kernels/tuning.h"
#include "replayer/plan/options.h"
#include "report/telemetry/sampler.h"

namespace reprise {

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

struct ReplayOptions : PlanOptions {
  std::int32_t warmup = 1;
  std::int32_t iterations = 3;
  bool check = false;            // exactly representable data in every transfer, verified
  bool check_values = false;     // one more iteration, not timed, counts denormals, infinities, NaN
  bool flush_denormals = false;  // computed as zero; the caller has set it for every thread
  bool allow_slow = false;       // run although the estimate is beyond 20× the recorded time
  bool share_memory = false;     // --memory share: storages without overlapping lifetimes may alias
                                 // even across actors; results are then meaningless, times are not
  // Chunks in which long transfers pass between a device and the network; 0: whole. Absent: 4 MiB
  // where some rank's device is not its host's CPU, whose tensors need no copy at all.
  std::optional<std::int64_t> staging_chunk_bytes;
  // Transfers by the library of the devices, where every rank has a device of its own.
  bool links_devices = true;
  AlgorithmChoices algorithms;       // of collectives; the session adds what it chooses itself
  std::string measured_collectives;  // the file of what was measured of them; empty: none
  std::string backend;               // Backend::name; the caller chooses (device_choice.h)
  std::optional<int> device_index;   // absent: by device_map
  DeviceMap device_map;
  std::string cache_directory;
  std::string compiled_programs;     // DeviceOptions::compiled_programs
  BackendSettings settings;          // of any backends
  std::vector<DeviceTuning> tuning;  // what `reprise tune` measured, of any devices
  std::int64_t watchdog_ns = 60'000'000'000;
  SamplerOptions sampling;  // period_ns 0: none
  // How long nothing runs before the run, so that idle power is known; absent: 2 s where power is
  // measured, else not at all.
  std::optional<std::int64_t> idle_ns;
  std::int64_t until_steady_ns = 0;  // warm up until temperatures settle, at most so long
};

// "round-robin", "packed", or "0:0,1:0,2:1": local rank to device index.
[[nodiscard]] Status ParseDeviceMap(std::string_view text, ReplayOptions& options);

}  // namespace reprise
