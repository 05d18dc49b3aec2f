#include "kernels/bench_timing.h"

#include <algorithm>
#include <cmath>

#include "core/clock.h"

namespace reprise {
namespace {

constexpr std::int64_t kWarmupNs = 30'000'000;
// Repeats of a slow case end here, so that it does not take the time of ten others.
constexpr std::int64_t kCaseNs = 400'000'000;
constexpr int kFewestRepeats = 3;
constexpr int kMostRunsPerRepeat = 1000;

// Runs the copies in turn, `count` runs in all, and waits for the last.
class Rotation {
 public:
  Rotation(Stream& stream, const BenchRuns& runs) : stream_(stream), runs_(runs) {}

  Result<double> NsPerRun(int count) {
    const std::int64_t begin_ns = MonotonicNs();
    for (int i = 0; i < count; ++i) {
      for (const auto& launch : runs_[next_]) {
        REPRISE_TRY(stream_.Enqueue(*launch));
      }
      next_ = (next_ + 1) % runs_.size();
    }
    REPRISE_TRY(stream_.Finish());
    return static_cast<double>(MonotonicNs() - begin_ns) / count;
  }

 private:
  Stream& stream_;
  const BenchRuns& runs_;
  std::size_t next_ = 0;
};

}  // namespace

Status TimeRuns(Stream& stream, const BenchRuns& runs, const KernelBenchOptions& options,
                KernelBenchRow& row) {
  Rotation rotation(stream, runs);
  const auto limit_ns = static_cast<double>(options.max_run_ns);
  REPRISE_TRY(rotation.NsPerRun(1));  // compiles
  const std::int64_t warm_ns = MonotonicNs() + kWarmupNs;
  double once_ns = 0;
  do {
    REPRISE_ASSIGN(once_ns, rotation.NsPerRun(1));
  } while (MonotonicNs() < warm_ns);

  std::vector<double> times;
  if (once_ns > limit_ns) {  // a second one of those would say little more
    times = {once_ns};
    row.runs_per_repeat = 1;
  } else {
    const double repeat_ns = static_cast<double>(options.min_time_ns) / options.repeats;
    row.runs_per_repeat = static_cast<int>(
        std::clamp<double>(std::ceil(repeat_ns / std::max(once_ns, 1.0)), 1, kMostRunsPerRepeat));
    const std::int64_t end_ns = MonotonicNs() + std::max(kCaseNs, options.min_time_ns);
    while (static_cast<int>(times.size()) < options.repeats &&
           (static_cast<int>(times.size()) < kFewestRepeats || MonotonicNs() < end_ns)) {
      REPRISE_ASSIGN(const double ns, rotation.NsPerRun(row.runs_per_repeat));
      times.push_back(ns);
    }
  }
  std::sort(times.begin(), times.end());
  const std::size_t middle = times.size() / 2;
  row.median_ns = times.size() % 2 == 1 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
  row.min_ns = times.front();
  row.max_ns = times.back();
  row.repeats = static_cast<int>(times.size());
  row.copies = static_cast<int>(runs.size());
  return {};
}

}  // namespace reprise
