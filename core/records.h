// Plain structs that folders share: executed nodes and samples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/comm.h"
#include "core/enum_names.h"
#include "core/operators.h"
#include "core/phase.h"
#include "core/shared_text.h"

namespace reprise {

// How a node was replayed (docs/definitions.md, "Modes").
enum class ReplayMode : std::uint8_t { kReal, kSurrogate, kTimed, kSkip };
REPRISE_NAMES(ReplayMode, "real", "surrogate", "timed", "skip");
// The node runs, by itself or by a surrogate.
[[nodiscard]] constexpr bool Executes(ReplayMode mode) {
  return mode == ReplayMode::kReal || mode == ReplayMode::kSurrogate;
}

// What the FLOPs and bytes of a node were taken from, best first (docs/coverage.md).
enum class WorkSource : std::uint8_t {
  kNone,         // nothing to compute: host nodes, waits; runs of schemas 1 to 6
  kArguments,    // arguments with shapes
  kCounts,       // num_ops and tensor_size of the node
  kCopiedBytes,  // the bytes of a copy or fill of memory
  kMessage,      // a transfer's message
  kUnknown,      // the trace does not say, and the node was to run
  kOperation,    // none of its own: another kernel of its operation does all of it
};
REPRISE_NAMES(WorkSource, "", "arguments", "counts", "copied_bytes", "message", "unknown",
              "operation");

// Where a simulated time comes from (docs/simulation.md), the best first.
enum class TimeSource : std::uint8_t {
  kNone,       // not simulated; runs of schemas 1 to 7
  kRecorded,   // as recorded: host time, waits, copies from and to the host
  kScaled,     // recorded × model of the target / model of the source
  kWhole,      // recorded × the ratio of the whole capture: the operation is not known
  kFitted,     // model, fitted efficiencies
  kMeasured,   // model, measured efficiencies
  kDatasheet,  // model, stated efficiencies
  kDefault,    // model, a default efficiency or least time
};
REPRISE_NAMES(TimeSource, "", "recorded", "scaled", "whole", "fitted", "measured", "datasheet",
              "default");
inline constexpr std::size_t kTimeSources = kNamesOf<TimeSource>.size();

// One node, one iteration, one rank. Replayed times are MonotonicNs of the rank's host.
struct NodeRecord {
  std::uint64_t node_id = 0;
  std::int32_t iteration = 0;
  std::int32_t step = 0;
  ReplayMode mode = ReplayMode::kReal;
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  // For transfers: time after all members had arrived is not knowable locally; start_ns is when
  // this rank issued it.
};

// Properties of a node that are fixed before it runs; written once per rank.
struct NodeInfo {
  std::uint64_t node_id = 0;
  SharedText name;
  OpClass op_class = OpClass::kOther;
  OpKind kind = OpKind::kWork;
  Phase phase = Phase::kOther;  // kOther too in runs of schemas 1 to 3, which do not say
  SharedText actor;             // "thread 1", "stream 0/7", "group 0"
  ReplayMode mode = ReplayMode::kReal;
  TimeSource time_from = TimeSource::kNone;  // of a simulated run
  SharedText kernel;                         // which kernel or collective ran it; surrogate's name
  SharedText shape;  // of its inputs: "[8,64] [64,64]"; empty: unknown (runs of schemas 1 to 5)
  double flops = 0;
  double bytes = 0;
  WorkSource work_from = WorkSource::kNone;
  bool capped = false;  // FLOPs or bytes are less than work_from says: implausible in its time
  std::int32_t step = 0;
  std::int64_t recorded_start_ns = 0;     // relative to the trace's base
  std::int64_t recorded_duration_ns = 0;  // of a transfer: from the last arrival on
  // From start to end, and from the end of what it waited for to its start (docs/definitions.md,
  // "the one equation"); kUnknownNs in runs of schema 1.
  static constexpr std::int64_t kUnknownNs = INT64_MIN;
  std::int64_t recorded_elapsed_ns = kUnknownNs;
  std::int64_t recorded_delay_ns = kUnknownNs;
  std::int64_t recorded_tracing_ns = 0;  // of recorded_duration_ns: what tracing took, estimated
  bool counts_for_coverage = false;      // work, device nodes and transfers
};

struct EdgeInfo {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  SharedText reason;
  bool inferred = false;
};

struct CollectiveInfo {
  std::uint64_t node_id = 0;
  CommSpec spec;
  std::int32_t group_size = 1;
  std::string role;  // of the group in a folded set: "tp"; else empty
  // Of a simulated run: from the last arrival to this rank's end, modelled; -1: not known.
  std::int64_t transfer_ns = -1;
};

// One iteration of one step on one rank.
struct StepRecord {
  std::int32_t iteration = 0;
  bool warmup = false;
  std::int32_t step = 0;
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
};

struct Sample {
  std::int32_t metric = 0;   // index into the sampler's list of metrics
  std::int64_t time_ns = 0;  // MonotonicNs
  double value = 0;
};

}  // namespace reprise
