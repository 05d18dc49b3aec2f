// reprise validate --timing: does a trace's own timing reproduce its recording?
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/timing/explain.h"
#include "replayer/plan/timing_graph.h"

namespace reprise {

struct TimingLimits {
  static constexpr double kError = 0.01;        // of the step
  static constexpr double kUnexplained = 0.01;  // of the step
};

// One line of the result. The step is the span from its first node's start to its last node's end;
// of a set, that of its slowest rank. Where a trace has several steps, times are sums over them and
// the error is the sum of the steps' absolute errors, so that one can't make up for another.
struct TimingRow {
  std::optional<std::int32_t> rank;  // nothing: the set
  std::int64_t recorded_ns = 0;
  std::int64_t dry_run_ns = 0;
  double error = 0;
  // Of a set: violated edges of all ranks; the unexplained and wake-up time of its worst rank.
  std::uint64_t violated_edges = 0;
  std::uint64_t clock_errors = 0;
  std::int64_t unexplained_ns = 0;
  std::int64_t wakeup_ns = 0;
  std::int64_t clock_uncertainty_ns = 0;
  // The largest difference of one node's start between dry run and recording: the equation holds
  // not only for the step.
  std::int64_t worst_start_ns = 0;
  std::vector<std::string> details;  // the worst findings, each naming its nodes

  [[nodiscard]] double unexplained_fraction() const {
    return recorded_ns > 0 ? static_cast<double>(unexplained_ns) / static_cast<double>(recorded_ns)
                           : 0;
  }
  [[nodiscard]] bool Ok() const {
    return error <= TimingLimits::kError && violated_edges == 0 &&
           unexplained_fraction() < TimingLimits::kUnexplained;
  }
};

// `graphs` by position in trace.ranks, to name nodes. Fails (bad input) on a cycle.
[[nodiscard]] Result<TimingRow> CheckTiming(const TimingTrace& trace,
                                            std::span<const Graph* const> graphs, bool set_scope);

}  // namespace reprise
