// Maps device timestamps to MonotonicNs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>

#include "kernels/opencl/cl.h"

namespace reprise {

// A pair of moments that are one, within ± uncertainty.
struct ClockPoint {
  std::int64_t device_ns = 0;
  std::int64_t host_ns = 0;
  std::int64_t uncertainty_ns = 0;
};

// Thread-safe. Measured when created and again by Refresh(); between two measurements the mapping
// is linear, so that a drift of the device clock is followed.
class DeviceClock {
 public:
  [[nodiscard]] static Result<std::unique_ptr<DeviceClock>> Create(const cl::Context& context,
                                                                   const cl::Device& device);
  // Measures again if the last measurement is older than a second.
  void Refresh();
  [[nodiscard]] std::int64_t ToHostNs(std::int64_t device_ns) const;
  [[nodiscard]] std::int64_t uncertainty_ns() const;
  // A command that does next to nothing and has times: a fill of one byte. Drivers need not give
  // markers times.
  [[nodiscard]] cl_int EnqueueMark(const cl::CommandQueue& queue, cl_uint count,
                                   const cl_event* waits, cl_event* event) const;

 private:
  DeviceClock(cl::CommandQueue queue, cl::Device device, cl::Buffer byte)
      : queue_(std::move(queue)), device_(std::move(device)), byte_(std::move(byte)) {}
  Result<ClockPoint> ByTimer();
  Result<ClockPoint> ByMark();

  cl::CommandQueue queue_;  // profiling, used for nothing else
  cl::Device device_;
  cl::Buffer byte_;
  std::int64_t resolution_ns_ = 0;  // of the times that events have: 1,000 with NVIDIA's driver
  bool use_timer_ = false;
  mutable std::mutex mutex_;
  std::array<ClockPoint, 2> points_;  // older, newer
};

}  // namespace reprise
