// An execution as operations with times: what a capture's trace set says, or a run's medians.
// Plain values; readers need no trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/operators.h"
#include "core/phase.h"
#include "core/placement.h"
#include "report/run/run.h"

namespace reprise {

// One call of an operator with all device work that it launched, or a transfer. Calls that only
// prepare others (views, allocation, the runtime's wrappers) are none.
struct TimedOperation {
  std::string name;               // "aten::addmm"; of a transfer that no call issued its kind
  std::string caller;             // the innermost composite around it; empty: none, or not recorded
  std::string module;             // "Model_0/Layer_3/Linear_12", of the ranges around it; likewise
  std::string shape;              // of its inputs: "[8,64] [64,64]"; empty: not recorded
  DType dtype = DType::kUnknown;  // of what it computes with
  bool tf32 = false;              // its kernels say that they use such units
  OpClass op_class = OpClass::kOther;
  Phase phase = Phase::kOther;
  bool on_device = false;  // it launched device work, whose time is its own
  bool transfer = false;
  std::int64_t thread = 0;  // that called it; kTransferThread: a transfer without a call
  std::int32_t step = 0;
  std::int64_t start_ns = 0;  // of its call, from the first step's begin on
  std::int64_t end_ns = 0;    // of what it did, the last kernel's where it launched some
  std::int64_t time_ns = 0;   // its kernels' sum, else its own time; of a transfer see below
  std::int32_t kernels = 0;   // device events: kernels, copies, fills
  // Of a transfer: this rank's time from the last arrival on, where ranks were matched; what it
  // waited for others before that.
  std::int64_t waited_ns = 0;
  double flops = 0, bytes = 0;  // 0 both: unknown
  std::uint64_t node_id = 0;    // its first node's
};
inline constexpr std::int64_t kTransferThread = -1;
// Of device work without a call that is known by its own: traces without a host's part.
inline constexpr std::int64_t kStreamThread = -2;

// What a device or a host's operation was busy with, on the recording's clock.
struct BusySlice {
  enum class Lane : std::uint8_t { kDevice, kHost, kTransfer } lane = Lane::kDevice;
  std::int64_t start_ns = 0, end_ns = 0;
  OpClass op_class = OpClass::kOther;
};

// How a rank's time passed in one step, or sums of these.
struct RankActivity {
  std::int64_t steps_ns = 0;  // the step itself
  // Operations ran: of a rank with a device the device's, else the host's; their union.
  std::int64_t busy_ns = 0;
  // steps_ns = busy_ns + launch_wait_ns + latency_ns + other_idle_ns. Until the host had launched
  // what ran next; from there to its start; the rest (no more device work; of a rank without a
  // device all of it: the host between operations, and waiting).
  std::int64_t launch_wait_ns = 0, latency_ns = 0, other_idle_ns = 0;
  // Of other_idle_ns: before device work whose launch is not recorded.
  std::int64_t unknown_launch_ns = 0;
  std::int64_t launch_gaps = 0;   // how often the device stood still for the next launch
  std::int64_t transfers_ns = 0;  // union of transfers, from issue to end
  std::int64_t exposed_ns = 0;    // of it, while no operation of the rank ran
  std::int64_t waited_ns = 0;     // of transfers: for other ranks to arrive

  RankActivity& operator+=(const RankActivity& other) {
    steps_ns += other.steps_ns;
    busy_ns += other.busy_ns;
    launch_wait_ns += other.launch_wait_ns;
    latency_ns += other.latency_ns;
    other_idle_ns += other.other_idle_ns;
    unknown_launch_ns += other.unknown_launch_ns;
    launch_gaps += other.launch_gaps;
    transfers_ns += other.transfers_ns;
    exposed_ns += other.exposed_ns;
    waited_ns += other.waited_ns;
    return *this;
  }
};

struct PathPart {
  std::string name;  // a class, "delay" or "waiting"; an operation
  std::int64_t ns = 0;
};

struct RankOperations {
  std::int32_t rank = 0;
  // For how many equal ranks of a folded simulation it stands, and which: "0-7". 1 and empty:
  // itself.
  std::int64_t alike = 1;
  std::string members;
  std::string host;       // empty: not recorded
  std::string device;     // "NVIDIA H100 80GB HBM3"; empty: none, or not recorded
  std::string processor;  // likewise
  RankPlacement placement;
  std::int32_t steps = 0;
  std::vector<std::int64_t> step_ns;       // by step
  std::vector<TimedOperation> operations;  // by thread, then in order
  // Device work whose launch is not in the recording: it was launched before that began.
  std::int64_t early_count = 0, early_ns = 0;
  // Of device events that the file has beside each other on one stream, what was cut off so that
  // they follow each other.
  std::int64_t overlap_ns = 0;
  std::int64_t device_events = 0;
  // All device events' time as the file has it: operations' on the device, early and overlap.
  std::int64_t device_ns = 0;
  std::vector<RankActivity> activity;  // by step
  std::vector<BusySlice> slices;       // by start
  WeightCounts weights;                // as a step with an optimizer shows them

  [[nodiscard]] bool HasDevice() const { return device_events > 0; }
};

// Of a run with a power meter: one kind of pass of inference (report/operations/inference.h).
struct PhaseEnergy {
  std::string phase;
  double joules = 0;  // an iteration
  std::int64_t tokens = 0;
};

// Power above the usual of one meter of a run (report/operations/run_power.h).
struct PeakOfPower {
  std::string host, device, metric;
  bool modelled = false;
  double threshold_watts = 0, most_watts = 0;
  std::int64_t peaks = 0, ns = 0;
  std::optional<std::int64_t> throttled;
  std::vector<PathPart> operations;  // most time first
};

struct JobOperations {
  std::string label;  // what a comparison calls it
  std::string about;  // "kineto alone", "replay of NAME"
  std::int32_t world_size = 0;
  std::vector<RankOperations> ranks;      // those that are there, by number
  std::vector<PhaseEnergy> phase_energy;  // of runs
  std::vector<PeakOfPower> power_peaks;   // of runs
  std::vector<std::string> notes;         // what the reader should know

  [[nodiscard]] const RankOperations* Find(std::int32_t rank) const {
    for (const RankOperations& of : ranks) {
      if (of.rank == rank) {
        return &of;
      }
    }
    return nullptr;
  }
};

}  // namespace reprise
