#include <algorithm>

#include "report/nodes/intervals.h"
#include "report/operations/operations_of.h"

namespace reprise {
namespace {

std::vector<Interval> Within(const std::vector<Interval>& intervals, const StepWindow& window) {
  std::vector<Interval> out;
  out.reserve(intervals.size());
  for (const auto& [begin_ns, end_ns] : intervals) {
    out.emplace_back(std::max(begin_ns, window.start_ns), std::min(end_ns, window.end_ns));
  }
  return Union(std::move(out));
}

std::vector<Interval> LaneOf(const RankOperations& rank, BusySlice::Lane lane) {
  std::vector<Interval> out;
  for (const BusySlice& slice : rank.slices) {
    // What computes; transfers of a device are both.
    if (slice.lane == lane &&
        !(lane == BusySlice::Lane::kDevice && slice.op_class == OpClass::kComm)) {
      out.emplace_back(slice.start_ns, slice.end_ns);
    }
  }
  return Union(std::move(out));
}

std::vector<Interval> TransfersOf(const RankOperations& rank) {
  std::vector<Interval> out;
  for (const BusySlice& slice : rank.slices) {
    if (slice.lane == BusySlice::Lane::kTransfer || slice.op_class == OpClass::kComm) {
      out.emplace_back(slice.start_ns, slice.end_ns);
    }
  }
  return Union(std::move(out));
}

// Each interval in which the device stood still, split at the launch of what ran next.
void SplitIdle(std::span<const StepWindow> steps, std::span<const std::int64_t> launched_ns,
               const RankOperations& rank, std::vector<RankActivity>& steps_activity) {
  std::int64_t busy_until = INT64_MIN;
  std::size_t device = 0;
  std::size_t window = 0;
  for (const BusySlice& slice : rank.slices) {
    if (slice.lane != BusySlice::Lane::kDevice) {
      continue;
    }
    const std::int64_t launched = launched_ns[device++];
    while (window < steps.size() && steps[window].end_ns <= slice.start_ns) {
      ++window;
    }
    if (window == steps.size()) {
      break;
    }
    const std::int64_t begin = std::max(busy_until, steps[window].start_ns);
    const std::int64_t end = std::max(begin, std::min(slice.start_ns, steps[window].end_ns));
    RankActivity& activity = steps_activity[window];
    busy_until = std::max(busy_until, slice.end_ns);
    if (launched == INT64_MIN) {
      activity.unknown_launch_ns += end - begin;
      continue;
    }
    const std::int64_t split = std::clamp(launched, begin, end);
    activity.launch_wait_ns += split - begin;
    activity.latency_ns += end - split;
    activity.launch_gaps += split > begin ? 1 : 0;
  }
}

}  // namespace

std::vector<std::int64_t> TakeSorted(std::vector<TimedOperation> operations,
                                     std::vector<LaunchedSlice> slices, RankOperations& rank) {
  std::ranges::stable_sort(operations, {}, &TimedOperation::thread);
  rank.operations = std::move(operations);
  std::ranges::stable_sort(
      slices, [](const auto& a, const auto& b) { return a.first.start_ns < b.first.start_ns; });
  std::vector<std::int64_t> launched_ns;
  for (const auto& [slice, launched] : slices) {
    rank.slices.push_back(slice);
    if (slice.lane == BusySlice::Lane::kDevice) {
      launched_ns.push_back(launched);
    }
  }
  return launched_ns;
}

void MeasureActivity(std::span<const StepWindow> steps, std::span<const std::int64_t> launched_ns,
                     RankOperations& rank) {
  rank.activity.assign(steps.size(), {});
  const bool device = rank.HasDevice();
  const std::vector<Interval> compute =
      LaneOf(rank, device ? BusySlice::Lane::kDevice : BusySlice::Lane::kHost);
  const std::vector<Interval> transfers = TransfersOf(rank);
  std::vector<Interval> all = compute;
  if (device) {
    all.insert(all.end(), transfers.begin(), transfers.end());
  }
  all = Union(std::move(all));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const StepWindow& step = steps[i];
    RankActivity& activity = rank.activity[i];
    activity.steps_ns += step.end_ns - step.start_ns;
    activity.busy_ns += Length(Within(all, step));
    const std::vector<Interval> moved = Within(transfers, step);
    activity.transfers_ns += Length(moved);
    activity.exposed_ns += LengthOutside(moved, compute);
  }
  if (device) {
    SplitIdle(steps, launched_ns, rank, rank.activity);
  }
  for (RankActivity& activity : rank.activity) {
    activity.other_idle_ns =
        activity.steps_ns - activity.busy_ns - activity.launch_wait_ns - activity.latency_ns;
  }
  for (const TimedOperation& of : rank.operations) {
    if (static_cast<std::size_t>(of.step) < rank.activity.size()) {
      rank.activity[static_cast<std::size_t>(of.step)].waited_ns += of.waited_ns;
    }
  }
}

}  // namespace reprise
