// An in-order CUDA stream.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "kernels/cuda/cuda_buffer.h"
#include "kernels/cuda/cuda_clock.h"

namespace reprise {

// A kernel with its arguments. To be moved, not copied.
struct CudaKernel {
  CudaHandle function = nullptr;
  std::array<unsigned int, 3> grid = {1, 1, 1};
  std::array<unsigned int, 3> block = {1, 1, 1};
  // An argument's bytes; those of a buffer's address are filled in when it is enqueued.
  void Add(const DeviceKernel::Arg& arg);
  mutable std::vector<StructBytes> values;
  std::vector<std::pair<std::size_t, Buffer*>> buffers;  // by their place in `values`
  std::vector<void*> addresses;                          // of the values
};

// What Prepare() makes of a launch, whose buffers are CudaBuffers that hold what it names.
// `is_empty`: copies, fills and kernels of nothing; they take no time.
struct CudaLaunch final : public PreparedLaunch {
  bool is_empty = false;
  std::variant<CudaKernel, DeviceCopy, DeviceFill, HostTask> command;
};

class CudaEvent final : public Event {
 public:
  CudaEvent(std::shared_ptr<CudaContext> context, CudaHandle event, CudaHandle stream)
      : context_(std::move(context)), event_(event), stream_(stream) {}
  ~CudaEvent() override { context_->GiveBack(event_, false); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  [[nodiscard]] bool IsDone() const override;
  [[nodiscard]] Status Wait() const override;
  [[nodiscard]] CudaHandle event() const { return event_; }
  [[nodiscard]] CudaHandle stream() const { return stream_; }

 private:
  const std::shared_ptr<CudaContext> context_;
  const CudaHandle event_;
  const CudaHandle stream_;
};

class CudaStream final : public Stream {
 public:
  // `clock` outlives the stream.
  [[nodiscard]] static Result<std::unique_ptr<Stream>> Create(std::shared_ptr<CudaContext> context,
                                                              CudaClock& clock, bool profiling);
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  [[nodiscard]] Status Enqueue(const PreparedLaunch& launch) override;
  [[nodiscard]] Status WaitFor(std::span<const EventPtr> events) override;
  [[nodiscard]] Result<EventPtr> Record() override;
  [[nodiscard]] Status Upload(Buffer& dst, std::int64_t offset_bytes, const void* src,
                              std::int64_t bytes) override;
  [[nodiscard]] Status Download(void* dst, const Buffer& src, std::int64_t offset_bytes,
                                std::int64_t bytes) override;
  [[nodiscard]] Status Flush() override { return {}; }  // nothing is held back
  [[nodiscard]] Status Finish() override;
  [[nodiscard]] Result<std::vector<Times>> TakeTimes() override;

  // The stream that this thread's task is enqueued on, whose context is the thread's; nullptr
  // outside of tasks.
  [[nodiscard]] static CudaStream* Current();
  // Part of a task: no time of its own.
  [[nodiscard]] Status EnqueueInTask(const PreparedLaunch& launch);
  [[nodiscard]] CudaHandle handle() const { return stream_; }
  // Where the buffer is, for a command that is enqueued now.
  [[nodiscard]] Result<CudaAddress> AddressOf(const Buffer* buffer, std::int64_t offset_bytes = 0);

 private:
  struct TimedEvents {
    CudaHandle start = nullptr;
    CudaHandle end = nullptr;
  };
  CudaStream(std::shared_ptr<CudaContext> context, CudaClock& clock, bool profiling,
             CudaHandle stream)
      : context_(std::move(context)), clock_(clock), profiling_(profiling), stream_(stream) {}
  [[nodiscard]] Status Issue(const CudaLaunch& launch);
  [[nodiscard]] Status IssueKernel(const CudaKernel& kernel);
  [[nodiscard]] Status IssueCopy(const DeviceCopy& copy);
  [[nodiscard]] Status IssueFill(const DeviceFill& fill);
  [[nodiscard]] Status IssueTask(const HostTask& task);
  // Times of the oldest events, so that few are alive.
  [[nodiscard]] Status Harvest(std::size_t keep);
  [[nodiscard]] Result<CudaHandle> Mark();
  const std::shared_ptr<CudaContext> context_;
  CudaClock& clock_;
  const bool profiling_;
  const CudaHandle stream_;
  std::deque<TimedEvents> live_;
  std::vector<Times> times_;
};

}  // namespace reprise
