// Ranks, what ran on them as what, and what their devices can do: values of the report.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

// What coverage is a share of: of the recorded steps, else of the FLOPs, bytes or number of work,
// device nodes and transfers. A set without durations has no recorded time.
enum class CoverageBasis : std::uint8_t { kTime, kFlops, kBytes, kNodes };
inline constexpr std::size_t kCoverageBases = 4;
[[nodiscard]] std::string_view Name(CoverageBasis basis);  // "time", "flops", "bytes", "nodes"

// Fractions of `amount`: ns of the recorded steps, FLOPs, bytes or nodes (docs/coverage.md). The
// first six sum to 1; all are 0 if there is nothing to share.
struct Coverage {
  double real = 0, surrogate = 0, timed = 0, skipped = 0;
  // Pauses, of time alone: in a transfer before its last member arrives, or in a wait; and the
  // host's other time.
  double waiting = 0, host = 0;
  double capped = 0;    // of the surrogates: those whose work was cut
  double unknown = 0;   // of the timed: those that were to run, but for their unknown work
  double compiled = 0;  // of the timed: code that a compiler made
  double amount = 0;

  // All but the pauses.
  [[nodiscard]] double Work() const { return real + surrogate + timed + skipped; }
};

struct RankRow {
  std::int32_t rank = 0;
  // For how many equal ranks it stands, and which: "0-7, 64-127:8". 1 and empty: itself.
  std::int64_t alike = 1;
  std::string members;
  std::string host, device;
  std::int64_t nodes = 0;
  std::int32_t iterations = 0;                     // finished, without warm-up
  Coverage coverage;                               // by Report::coverage_basis
  std::array<Coverage, kCoverageBases> coverages;  // by each
  // Of what counts for coverage, added up: what ran at a time counts more than once.
  std::int64_t recorded_ns = 0;
  std::int64_t unknown_ns = 0;  // of that: what was to run, but for its unknown work
  bool work_known = false;      // of some operation, from its arguments or counts
  std::optional<std::int64_t> step_time_recorded_ns, step_time_replayed_ns;
  // How well its times compare with rank 0's; none: not at all, except on one host.
  std::optional<std::int64_t> clock_uncertainty_ns;
  // Recorded time of host nodes, of waits, and of gaps on host threads.
  std::int64_t host_ns = 0, wait_ns = 0, delay_ns = 0;
  std::int64_t recorded_steps = 1;
};

// Rates of a device, measured before the run by one rank alone: a float32 GEMM and a copy.
struct DeviceLimitRow {
  std::string device;                    // as in RankRow
  std::vector<std::int32_t> ranks;       // that used a device of this name
  double gflop_per_s = 0, gb_per_s = 0;  // the best of them
};

}  // namespace reprise
