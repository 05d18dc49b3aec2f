// Times of operations by class, phase and shapes, and how fast phases go: values of the report.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "report/run/run.h"

namespace reprise {

// Times of simulated nodes, by where they come from (TimeSource).
using SourceTimes = std::array<std::int64_t, kTimeSources>;
inline void AddTimes(const SourceTimes& times_ns, SourceTimes& to_ns) {
  for (std::size_t i = 0; i < to_ns.size(); ++i) {
    to_ns[i] += times_ns[i];
  }
}

// One class of operations, or one phase of the step: one pass over the trace, all ranks.
struct ClassRow {
  std::string name;
  std::int64_t count = 0;
  std::int64_t recorded_ns = 0;
  std::int64_t tracing_ns = 0;              // of recorded_ns: what tracing took, estimated
  std::optional<std::int64_t> replayed_ns;  // of an iteration, the median over iterations
  double flops = 0, bytes = 0;
  std::optional<double> gflop_per_s, gb_per_s;  // as replayed; none where nothing ran
  SourceTimes from_ns{};                        // of replayed_ns
};

// All calls of one operation with tensors of the same shapes: one pass over the trace, all ranks.
struct ShapeRow {
  std::string name, op_class;
  std::string shape;  // of its inputs, "[8,64] [64,64]"; empty: not recorded
  std::int64_t count = 0;
  std::int64_t recorded_ns = 0;
  std::int64_t tracing_ns = 0;   // of recorded_ns: what tracing took, estimated
  std::int64_t replayed_ns = 0;  // of an iteration, the median over iterations
  SourceTimes from_ns{};         // of replayed_ns
};

struct ClassFactor {
  std::string name;
  double factor = 1;
};

// A phase of a training step, or a kind of pass of inference. Of one step; `time_ns` the mean of a
// rank: its operations of the phase, or the passes from end to end. `tokens` of all ranks that the
// energy is of.
struct PhaseUse {
  std::string name;  // "forward", "prefill"
  std::optional<double> time_ns;
  std::optional<double> tokens;
  std::optional<double> joules;

  [[nodiscard]] std::optional<double> TokensPerSecond() const {
    return tokens && time_ns && *time_ns > 0 ? std::optional(*tokens / *time_ns * 1e9)
                                             : std::nullopt;
  }
  [[nodiscard]] std::optional<double> JoulesPerToken() const {
    return joules && tokens && *tokens > 0 ? std::optional(*joules / *tokens) : std::nullopt;
  }
};

}  // namespace reprise
