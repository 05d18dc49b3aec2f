// An in-order OpenCL queue.
#pragma once

#include <deque>
#include <functional>
#include <variant>
#include <vector>

#include "kernels/device.h"
#include "kernels/opencl/cl.h"
#include "kernels/opencl/device_clock.h"

namespace reprise {

class OpenClBuffer : public Buffer {
 public:
  OpenClBuffer(cl::Buffer memory, std::int64_t bytes) : memory_(std::move(memory)), bytes_(bytes) {}
  [[nodiscard]] std::int64_t size_bytes() const override { return bytes_; }
  [[nodiscard]] std::byte* host_data() override { return nullptr; }
  [[nodiscard]] const cl::Buffer& memory() const { return memory_; }

 private:
  cl::Buffer memory_;
  std::int64_t bytes_;
};

// What Prepare() makes of a launch, whose buffers are OpenClBuffers that hold what it names. Copies
// and fills of nothing, and kernels over nothing, have `empty` set and enqueue only a time mark
// where times are asked for.
struct OpenClLaunch : public PreparedLaunch {
  struct KernelRange {
    cl::Kernel kernel;  // its own, with all arguments set
    std::array<std::size_t, 3> global;
    std::array<std::size_t, 3> local;
    bool has_local;
  };
  // Another library's commands, which it enqueues itself; `event`, where not null, gets the last.
  struct Foreign {
    std::function<Status(cl_command_queue queue, cl_event* event)> enqueue;
  };
  bool empty = false;
  std::variant<KernelRange, DeviceCopy, DeviceFill, Foreign> command;
};

class OpenClEvent : public Event {
 public:
  OpenClEvent(cl::Event event, cl::CommandQueue queue)
      : event_(std::move(event)), queue_(std::move(queue)) {}
  [[nodiscard]] bool IsDone() const override;
  [[nodiscard]] Status Wait() const override;
  // Submits its queue, without which another queue might wait for ever.
  [[nodiscard]] Status FlushQueue() const;
  [[nodiscard]] const cl::Event& event() const { return event_; }
  [[nodiscard]] const cl::CommandQueue& queue() const { return queue_; }

 private:
  cl::Event event_;
  cl::CommandQueue queue_;
};

class OpenClStream : public Stream {
 public:
  // `clock` outlives the stream.
  OpenClStream(cl::CommandQueue queue, bool profiling, DeviceClock& clock)
      : queue_(std::move(queue)), profiling_(profiling), clock_(clock) {}
  ~OpenClStream() override;

  [[nodiscard]] Status Enqueue(const PreparedLaunch& launch) override;
  [[nodiscard]] Status WaitFor(std::span<const EventPtr> events) override;
  [[nodiscard]] Result<EventPtr> Record() override;
  [[nodiscard]] Status Upload(Buffer& dst, std::int64_t offset_bytes, const void* src,
                              std::int64_t bytes) override;
  [[nodiscard]] Status Download(void* dst, const Buffer& src, std::int64_t offset_bytes,
                                std::int64_t bytes) override;
  [[nodiscard]] Result<std::byte*> Map(Buffer& buffer, std::int64_t offset_bytes,
                                       std::int64_t bytes) override;
  [[nodiscard]] Status Unmap(Buffer& buffer, std::byte* mapped) override;
  [[nodiscard]] Status Flush() override;
  [[nodiscard]] Status Finish() override;
  [[nodiscard]] Result<std::vector<Times>> TakeTimes() override;

 private:
  // call(count, events), given the events that the stream must wait for. Afterwards these are
  // spent, and an earlier Record() is no longer the latest.
  template <typename Call>
  Status Command(std::string_view what, Call&& call);
  Status EnqueueLaunch(const OpenClLaunch& launch, cl_event* event);
  // Turns the oldest finished events into times, so that the number of live events stays bounded.
  Status Harvest(std::size_t keep, bool wait);

  cl::CommandQueue queue_;
  const bool profiling_;
  DeviceClock& clock_;
  int unflushed_ = 0;
  std::deque<cl::Event> live_;
  std::vector<Times> device_times_;  // not mapped yet
  std::vector<cl::Event> waits_;     // of the next command
  bool timed_last_ = false;          // live_.back() is the last command's
  EventPtr last_record_;             // still the latest, if nothing was enqueued since
};

}  // namespace reprise
