// The operations of two executions side by side: time by class, operation and shape, and what only
// one of them has. Pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "report/compare/align.h"
#include "report/compare/share.h"
#include "report/operations/job_operations.h"

namespace reprise {

// What is summed of one side. Times are sums over ranks and steps.
struct OperationSum {
  std::int64_t count = 0;
  std::int64_t ns = 0;
  std::int64_t device_events = 0;
  // Of those without a counterpart on the other side; parts of the above.
  std::int64_t alone_count = 0, alone_ns = 0;
};

// b / a; nothing where one has no time.
[[nodiscard]] inline std::optional<double> RatioOf(std::int64_t a, std::int64_t b) {
  return a > 0 && b > 0 ? std::optional(static_cast<double>(b) / static_cast<double>(a))
                        : std::nullopt;
}

struct AlignedRow {
  std::string name;      // a class, an operation ("a / b" where the sides name it otherwise)
  std::string op_class;  // of an operation or shape
  std::string shape;     // likewise; "a → b" where they differ
  OperationSum a, b;
  [[nodiscard]] std::int64_t difference_ns() const { return b.ns - a.ns; }
  [[nodiscard]] std::optional<double> ratio() const { return RatioOf(a.ns, b.ns); }
};

// Of one side.
struct AlignedShare {
  std::int64_t operations = 0, aligned = 0;
  std::int64_t ns = 0, aligned_ns = 0;
  [[nodiscard]] double share() const {
    return operations > 0 ? static_cast<double>(aligned) / static_cast<double>(operations) : 0;
  }
  [[nodiscard]] double time_share() const {
    return ns > 0 ? static_cast<double>(aligned_ns) / static_cast<double>(ns) : 0;
  }
};

// Sums over ranks and steps.
struct SideTotals {
  std::int64_t ranks = 0, steps = 0;  // `steps` of a rank
  std::int64_t step_ns = 0;           // the slowest rank's, mean of steps
  // Of all device events of the ranks, as the files have them.
  std::int64_t device_ns = 0, device_events = 0;
  std::int64_t early_ns = 0, early_count = 0, overlap_ns = 0;
  RankActivity activity;
  std::string device;  // of the first rank that has one
  bool on_device = false;
  // Most launches are recorded, so that waiting for them is known.
  [[nodiscard]] bool LaunchesKnown() const {
    return activity.unknown_launch_ns <= activity.launch_wait_ns + activity.latency_ns;
  }
};
[[nodiscard]] SideTotals TotalsOf(const JobOperations& job);

// Of a side against the first.
struct OperationDifference {
  std::array<std::int64_t, kAlignedBys> aligned_by{};
  AlignedShare a, b;  // of operations that launch device work; without devices of all
  SideTotals totals_a, totals_b;
  std::vector<AlignedRow> classes, operations, shapes;  // the largest difference first
  std::vector<AlignedRow> phases;
  std::vector<AlignedRow> collectives;  // transfers by kind: "all_reduce"
  // False: a side does not record most launches. Idle time of both is then one number,
  // other_idle_ns.
  bool launches_known = true;
  std::vector<ShareRow> shares;     // empty: a device is not known
  std::vector<std::int32_t> ranks;  // of both
  std::vector<std::string> notes;
  std::string verdict;

  // The smaller of both sides'.
  [[nodiscard]] double share() const { return std::min(a.share(), b.share()); }
  // Of the time of both sides' operations, the smaller share that aligns.
  [[nodiscard]] double time_share() const { return std::min(a.time_share(), b.time_share()); }
  // Another optimizer replaces most operations, which take little of the time.
  [[nodiscard]] bool IsOneJob() const {
    constexpr double kOneJobShare = 0.5;  // of operations, or of their time
    return share() >= kOneJobShare || time_share() >= kOneJobShare;
  }
  // Of a sum over ranks and steps, the mean of one step on a rank.
  [[nodiscard]] std::int64_t StepNs(std::int64_t sum_ns) const {
    const auto passes = static_cast<std::int64_t>(ranks.size()) * totals_a.steps;
    return sum_ns / std::max<std::int64_t>(passes, 1);
  }
};

// Ranks are compared with ranks of their number; where neither side has another and the numbers
// differ, with each other. Both have the same number of steps (report/run/run_part.h).
[[nodiscard]] OperationDifference CompareOperations(const JobOperations& a, const JobOperations& b);

// "mi300's device work takes 0.59x of h100's (…): gemm 0.45x (−210 ms) …". One sentence.
[[nodiscard]] std::string DifferenceVerdict(const JobOperations& a, const JobOperations& b,
                                            const OperationDifference& difference);

}  // namespace reprise
