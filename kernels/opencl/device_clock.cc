#include "kernels/opencl/device_clock.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "core/clock.h"

namespace reprise {
namespace {

constexpr int kTries = 8;
constexpr std::int64_t kRefreshNs = 1'000'000'000;

// The tightest of several measurements.
template <typename Measure>
Result<ClockPoint> Tightest(Measure&& measure) {
  Result<ClockPoint> best = measure();
  for (int i = 1; best && i < kTries; ++i) {
    const Result<ClockPoint> next = measure();
    if (next && next->uncertainty_ns < best->uncertainty_ns) {
      best = next;
    }
  }
  return best;
}

ClockPoint Between(std::int64_t device_ns, std::int64_t before_ns, std::int64_t after_ns) {
  return {device_ns, before_ns + (after_ns - before_ns) / 2, (after_ns - before_ns) / 2 + 1};
}

// "OpenCL 3.0 CUDA": the timer came with 2.1.
bool HasTimer(const cl::Device& device) {
  const Result<std::string> version =
      CatchCl("reading the version", [&] { return device.getInfo<CL_DEVICE_VERSION>(); });
  int major = 0;
  int minor = 0;
  return version && std::sscanf(version->c_str(), "OpenCL %d.%d", &major, &minor) == 2 &&
         major * 10 + minor >= 21;
}

}  // namespace

Result<std::unique_ptr<DeviceClock>> DeviceClock::Create(const cl::Context& context,
                                                         const cl::Device& device) {
  REPRISE_ASSIGN(cl::CommandQueue queue, CatchCl("creating the clock's queue", [&] {
                   return cl::CommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE);
                 }));
  std::unique_ptr<DeviceClock> clock(new DeviceClock(std::move(queue), device));
  REPRISE_ASSIGN(const ClockPoint marker, Tightest([&] { return clock->ByMarker(); }));
  // The timer is used only where it agrees with profiling events: some drivers answer with
  // another clock than the one that stamps events.
  const Result<ClockPoint> timer = HasTimer(device)
                                       ? Tightest([&] { return clock->ByTimer(); })
                                       : Result<ClockPoint>(EnvironmentError("no timer"));
  if (timer) {
    const std::int64_t offset_difference =
        (timer->host_ns - timer->device_ns) - (marker.host_ns - marker.device_ns);
    clock->use_timer_ =
        std::llabs(offset_difference) <= timer->uncertainty_ns + marker.uncertainty_ns;
  }
  const ClockPoint& best = clock->use_timer_ ? *timer : marker;
  clock->points_ = {best, best};
  return clock;
}

Result<ClockPoint> DeviceClock::ByTimer() {
  cl_ulong device_ns = 0;
  cl_ulong unused = 0;  // the driver's host clock, which need not be MonotonicNs
  const std::int64_t before = MonotonicNs();
  const cl_int code = clGetDeviceAndHostTimer(device_(), &device_ns, &unused);
  const std::int64_t after = MonotonicNs();
  REPRISE_TRY(ClStatus("reading the device timer", code));
  return Between(static_cast<std::int64_t>(device_ns), before, after);
}

Result<ClockPoint> DeviceClock::ByMarker() {
  return CatchCl("timing a marker", [&] {
    cl::Event event;
    const std::int64_t before = MonotonicNs();
    queue_.enqueueMarkerWithWaitList(nullptr, &event);
    event.wait();
    const std::int64_t after = MonotonicNs();
    return Between(static_cast<std::int64_t>(event.getProfilingInfo<CL_PROFILING_COMMAND_END>()),
                   before, after);
  });
}

void DeviceClock::Refresh() {
  const std::lock_guard lock(mutex_);
  if (MonotonicNs() - points_[1].host_ns < kRefreshNs) {
    return;
  }
  if (const auto point = Tightest([&] { return use_timer_ ? ByTimer() : ByMarker(); })) {
    points_ = {points_[1], *point};
  }
}

std::int64_t DeviceClock::ToHostNs(std::int64_t device_ns) const {
  const std::lock_guard lock(mutex_);
  const auto& [older, newer] = points_;
  const std::int64_t device_span = newer.device_ns - older.device_ns;
  if (device_ns <= older.device_ns || device_span <= 0) {
    return older.host_ns + (device_ns - older.device_ns);
  }
  if (device_ns >= newer.device_ns) {
    return newer.host_ns + (device_ns - newer.device_ns);
  }
  const double share =
      static_cast<double>(device_ns - older.device_ns) / static_cast<double>(device_span);
  return older.host_ns +
         static_cast<std::int64_t>(share * static_cast<double>(newer.host_ns - older.host_ns));
}

std::int64_t DeviceClock::uncertainty_ns() const {
  const std::lock_guard lock(mutex_);
  return std::max(points_[0].uncertainty_ns, points_[1].uncertainty_ns);
}

}  // namespace reprise
