#include "kernels/opencl/device_clock.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

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
  REPRISE_ASSIGN(cl::Buffer byte, CatchCl("allocating the clock's byte", [&] {
                   return cl::Buffer(context, CL_MEM_READ_WRITE, 1);
                 }));
  std::unique_ptr<DeviceClock> clock(new DeviceClock(std::move(queue), device, std::move(byte)));
  (void)CatchCl("reading the resolution of times", [&] {
    clock->resolution_ns_ =
        static_cast<std::int64_t>(device.getInfo<CL_DEVICE_PROFILING_TIMER_RESOLUTION>());
  });
  REPRISE_ASSIGN(const ClockPoint mark, Tightest([&] { return clock->ByMark(); }));
  // The timer is used only where it agrees with profiling events: some drivers answer with
  // another clock than the one that stamps events.
  const Result<ClockPoint> timer = HasTimer(device)
                                       ? Tightest([&] { return clock->ByTimer(); })
                                       : Result<ClockPoint>(EnvironmentError("no timer"));
  if (timer) {
    const std::int64_t offset_difference =
        (timer->host_ns - timer->device_ns) - (mark.host_ns - mark.device_ns);
    clock->use_timer_ =
        std::llabs(offset_difference) <= timer->uncertainty_ns + mark.uncertainty_ns;
  }
  const ClockPoint& best = clock->use_timer_ ? *timer : mark;
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

cl_int DeviceClock::EnqueueMark(const cl::CommandQueue& queue, cl_uint count, const cl_event* waits,
                                cl_event* event) const {
  const cl_uchar zero = 0;
  return clEnqueueFillBuffer(queue(), byte_(), &zero, sizeof(zero), 0, sizeof(zero), count, waits,
                             event);
}

Result<ClockPoint> DeviceClock::ByMark() {
  constexpr std::string_view kWhat = "filling the clock's byte";
  cl::Event event;
  const std::int64_t before = MonotonicNs();
  REPRISE_TRY(ClStatus(kWhat, EnqueueMark(queue_, 0, nullptr, &event())));
  REPRISE_TRY(ClStatus(kWhat, clWaitForEvents(1, &event())));
  const std::int64_t after = MonotonicNs();
  cl_ulong end = 0;
  REPRISE_TRY(ClStatus(
      "reading an event's time",
      clGetEventProfilingInfo(event(), CL_PROFILING_COMMAND_END, sizeof(end), &end, nullptr)));
  if (end == 0) {
    return EnvironmentError(
        "the OpenCL driver gives no times: a fill ended at 0 on a queue that records times");
  }
  return Between(static_cast<std::int64_t>(end), before, after);
}

void DeviceClock::Refresh() {
  const std::lock_guard lock(mutex_);
  if (MonotonicNs() - points_[1].host_ns < kRefreshNs) {
    return;
  }
  if (const auto point = Tightest([&] { return use_timer_ ? ByTimer() : ByMark(); })) {
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
  return std::max(points_[0].uncertainty_ns, points_[1].uncertainty_ns) + resolution_ns_;
}

}  // namespace reprise
