// A device that forwards to another one, or to nothing, and notes what the host did: when it
// enqueued, and how often it waited.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "kernels/device.h"

namespace reprise {

// Since the last Reset(). Written by whoever uses a stream.
struct Observed {
  std::atomic<std::int64_t> last_enqueue_ns = 0;
  std::atomic<std::int64_t> enqueues = 0;
  std::atomic<std::int64_t> waits = 0;          // blocking calls
  std::atomic<std::int64_t> waits_between = 0;  // of these, before the last enqueue

  // CPU time of the enqueueing thread between two enqueues, everything in between included: on a
  // machine that does other work, wall time is mostly that work's. Read now and then, because
  // reading it costs more than an enqueue does. Enqueues of one thread only (the latest's).
  std::atomic<int> thread = 0;
  std::atomic<std::int64_t> first_cpu_ns = 0, first_enqueue = 0;
  std::atomic<std::int64_t> last_cpu_ns = 0, last_enqueue = 0;

  void Reset();
  void Enqueued();
  [[nodiscard]] double CpuNsPerEnqueue() const;
};

class ObservedDevice final : public Device {
 public:
  // `real` outlives it. `forward` false: streams take launches and do nothing with them, so that
  // what remains is the caller's own time.
  ObservedDevice(Device& real, bool forward) : real_(real), forward_(forward) {}

  [[nodiscard]] const DeviceInfo& info() const override { return real_.info(); }
  [[nodiscard]] const CallLowering& lowering() const override { return real_.lowering(); }
  [[nodiscard]] Result<std::unique_ptr<Buffer>> Allocate(std::int64_t bytes) override {
    return real_.Allocate(bytes);
  }
  [[nodiscard]] Result<std::unique_ptr<Stream>> CreateStream(bool profiling) override;
  [[nodiscard]] Result<std::unique_ptr<PreparedLaunch>> Prepare(const Launch& launch) override {
    return real_.Prepare(launch);
  }
  [[nodiscard]] std::int64_t clock_uncertainty_ns() const override {
    return real_.clock_uncertainty_ns();
  }
  Observed& observed() { return observed_; }

 private:
  Device& real_;
  const bool forward_;
  Observed observed_;
};

}  // namespace reprise
