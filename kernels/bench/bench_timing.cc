#include "kernels/bench/bench_timing.h"

#include <algorithm>
#include <cmath>

#include "core/clock.h"
#include "kernels/call_lowering.h"

namespace reprise {
namespace {

constexpr std::int64_t kWarmupNs = 30'000'000;
// After a copy: threads are where it left them, not where a run wants them.
constexpr std::int64_t kAfterCopyNs = 3'000'000;
// Repeats of a slow case end here, so that it does not take the time of ten others.
constexpr std::int64_t kCaseNs = 400'000'000;
constexpr int kFewestRepeats = 3;
constexpr int kMaxRunsPerRepeat = 1000;

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
  // At least one run; what the last one took.
  Result<double> Warm(std::int64_t at_least_ns) {
    const std::int64_t end_ns = MonotonicNs() + at_least_ns;
    double ns = 0;
    do {
      REPRISE_ASSIGN(ns, NsPerRun(1));
    } while (MonotonicNs() < end_ns);
    return ns;
  }

 private:
  Stream& stream_;
  const BenchRuns& runs_;
  std::size_t next_ = 0;
};

// The time that a copy of one run's bytes takes now; 0 without a probe.
Result<double> CopyNs(LimitProbe* probe, const KernelBenchRow& row) {
  if (probe == nullptr) {
    return 0.0;
  }
  REPRISE_TRY(probe->Copy());  // the first one finds threads and caches as the kernel left them
  REPRISE_ASSIGN(const double once, probe->Copy());
  REPRISE_ASSIGN(const double again, probe->Copy());
  return row.cost.bytes / ((once + again) / 2) * 1e9;
}

// The middle of sorted values, or the mean of the two middle ones.
double Middle(const std::vector<double>& sorted) {
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

}  // namespace

Result<BenchRuns> PrepareRuns(Device& device, const DeviceInfo& info, const Kernel& kernel,
                              const OpCall& call, BenchMemory& memory) {
  BenchRuns runs;
  for (int i = 0; i < memory.copies(); ++i) {
    const LowerContext context{memory.copy(i), info, [&](int slot, std::int64_t bytes) {
                                 return memory.Scratch(slot, bytes);
                               }};
    REPRISE_ASSIGN(const std::vector<Launch> lowered,
                   device.lowering().Lower(kernel, call, context));
    auto& launches = runs.emplace_back();
    for (const Launch& launch : lowered) {
      REPRISE_ASSIGN(auto prepared, device.Prepare(launch));
      launches.push_back(std::move(prepared));
    }
  }
  return runs;
}

Status TimeRuns(Stream& stream, const BenchRuns& runs, const KernelBenchOptions& options,
                LimitProbe* probe, KernelBenchRow& row) {
  Rotation rotation(stream, runs);
  const auto most_ns = static_cast<double>(options.max_run_ns);
  REPRISE_TRY(rotation.NsPerRun(1));  // compiles
  REPRISE_ASSIGN(const double once_ns, rotation.Warm(kWarmupNs));

  // Of one that takes so long, a few more would say little more.
  const int repeats = once_ns > most_ns ? 1 : options.repeats;
  const double repeat_ns = static_cast<double>(options.min_time_ns) / options.repeats;
  row.runs_per_repeat = static_cast<int>(
      std::clamp<double>(std::ceil(repeat_ns / std::max(once_ns, 1.0)), 1, kMaxRunsPerRepeat));
  std::vector<double> times;
  std::vector<double> shares;
  REPRISE_ASSIGN(double before_ns, CopyNs(probe, row));
  const std::int64_t end_ns = MonotonicNs() + std::max(kCaseNs, options.min_time_ns);
  while (static_cast<int>(times.size()) < repeats &&
         (static_cast<int>(times.size()) < kFewestRepeats || MonotonicNs() < end_ns)) {
    if (probe != nullptr) {
      REPRISE_TRY(rotation.Warm(kAfterCopyNs));
    }
    REPRISE_ASSIGN(const double ns, rotation.NsPerRun(row.runs_per_repeat));
    REPRISE_ASSIGN(const double after_ns, CopyNs(probe, row));
    times.push_back(ns);
    shares.push_back((before_ns + after_ns) / 2 / ns);
    before_ns = after_ns;
  }
  std::ranges::sort(times);
  std::ranges::sort(shares);
  row.median_ns = Middle(times);
  row.min_ns = times.front();
  row.max_ns = times.back();
  row.repeats = static_cast<int>(times.size());
  row.copies = static_cast<int>(runs.size());
  row.share = {Middle(shares), shares.front(), shares.back()};
  return {};
}

}  // namespace reprise
