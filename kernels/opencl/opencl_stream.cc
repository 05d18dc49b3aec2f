#include "kernels/opencl/opencl_stream.h"

namespace reprise {
namespace {

// Drivers batch commands until a flush; this many are worth starting on.
constexpr int kFlushEvery = 32;
// Live events of a profiling stream; beyond, finished ones are read, and at the hard limit waited
// for. Drivers slow down, or run out, with tens of thousands.
constexpr std::size_t kWindow = 2048;
constexpr std::size_t kHardLimit = 8192;

std::size_t Dimensions(const std::array<std::size_t, 3>& global) {
  return global[2] > 1 ? 3 : (global[1] > 1 ? 2 : 1);
}

cl_int ExecutionStatus(const cl::Event& event) {
  cl_int status = CL_COMPLETE;
  const cl_int code =
      clGetEventInfo(event(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, nullptr);
  return code == CL_SUCCESS ? status : code;
}

}  // namespace

bool OpenClEvent::IsDone() const {
  if (ExecutionStatus(event_) <= CL_COMPLETE) {
    return true;
  }
  (void)clFlush(queue_());
  return false;
}

Status OpenClEvent::Wait() const {
  REPRISE_TRY(FlushQueue());
  const cl_event raw = event_();
  const cl_int code = clWaitForEvents(1, &raw);
  const cl_int status = ExecutionStatus(event_);
  return ClStatus("a command", status < 0 ? status : code);
}

Status OpenClEvent::FlushQueue() const { return ClStatus("flushing a queue", clFlush(queue_())); }

OpenClStream::~OpenClStream() {
  // Commands may still use what the caller frees next.
  (void)clFinish(queue_());
}

OpenClStream::WaitList OpenClStream::Waits() const {
  return {static_cast<cl_uint>(raw_waits_.size()),
          raw_waits_.empty() ? nullptr : raw_waits_.data()};
}

void OpenClStream::Enqueued() {
  waits_.clear();
  raw_waits_.clear();
  last_record_ = nullptr;
  timed_last_ = false;
}

Status OpenClStream::EnqueueCommand(const OpenClLaunch& launch, cl_event* event) {
  const auto [count, waits] = Waits();
  if (launch.empty) {
    return event == nullptr ? Status()
                            : ClStatus("enqueueing a marker",
                                       clEnqueueMarkerWithWaitList(queue_(), count, waits, event));
  }
  if (const auto* range = std::get_if<OpenClLaunch::KernelRange>(&launch.command)) {
    return ClStatus("enqueueing a kernel",
                    clEnqueueNDRangeKernel(
                        queue_(), range->kernel(), static_cast<cl_uint>(Dimensions(range->global)),
                        nullptr, range->global.data(),
                        range->has_local ? range->local.data() : nullptr, count, waits, event));
  }
  if (const auto* copy = std::get_if<OpenClLaunch::Copy>(&launch.command)) {
    return ClStatus("enqueueing a copy",
                    clEnqueueCopyBuffer(queue_(), copy->src(), copy->dst(), copy->src_offset,
                                        copy->dst_offset, copy->bytes, count, waits, event));
  }
  if (const auto* foreign = std::get_if<OpenClLaunch::Foreign>(&launch.command)) {
    if (count > 0) {  // a library takes no wait list
      REPRISE_TRY(ClStatus("waiting for events of another stream",
                           clEnqueueBarrierWithWaitList(queue_(), count, waits, nullptr)));
    }
    return foreign->enqueue(queue_(), event);
  }
  const auto& fill = std::get<OpenClLaunch::Fill>(launch.command);
  return ClStatus(
      "enqueueing a fill",
      clEnqueueFillBuffer(queue_(), fill.dst(), fill.pattern.data(), fill.pattern.size(),
                          fill.offset, fill.bytes, count, waits, event));
}

Status OpenClStream::Enqueue(const PreparedLaunch& launch) {
  const auto* prepared = dynamic_cast<const OpenClLaunch*>(&launch);
  if (prepared == nullptr) {
    return UsageError("a launch prepared by another backend was enqueued on OpenCL");
  }
  if (prepared->empty && !profiling_) {
    return {};
  }
  cl_event event = nullptr;
  REPRISE_TRY(EnqueueCommand(*prepared, profiling_ ? &event : nullptr));
  Enqueued();
  if (profiling_) {
    live_.emplace_back(event);  // takes over the reference
    timed_last_ = true;
    if (live_.size() > kWindow) {
      REPRISE_TRY(Harvest(kWindow, live_.size() > kHardLimit));
    }
  }
  if (++unflushed_ >= kFlushEvery) {
    REPRISE_TRY(Flush());
  }
  return {};
}

// The next command gets them as its wait list: the device resolves them, and no barrier is paid.
Status OpenClStream::WaitFor(std::span<const EventPtr> events) {
  for (const EventPtr& event : events) {
    const auto* opencl = dynamic_cast<const OpenClEvent*>(event.get());
    if (opencl == nullptr) {
      return UsageError("an OpenCL stream was told to wait for another backend's event");
    }
    if (opencl->queue()() == queue_()) {
      continue;  // in order anyway
    }
    if (ExecutionStatus(opencl->event()) == CL_COMPLETE) {
      continue;
    }
    REPRISE_TRY(opencl->FlushQueue());
    waits_.push_back(opencl->event());
    raw_waits_.push_back(opencl->event()());
  }
  return {};
}

Result<EventPtr> OpenClStream::Record() {
  if (last_record_ != nullptr && waits_.empty()) {
    return last_record_;
  }
  cl::Event event;
  if (timed_last_ && waits_.empty()) {
    event = live_.back();  // in order: once the last command is done, everything is
  } else {
    const auto [count, waits] = Waits();
    cl_event raw = nullptr;
    REPRISE_TRY(
        ClStatus("enqueueing a marker", clEnqueueMarkerWithWaitList(queue_(), count, waits, &raw)));
    event = cl::Event(raw);
    Enqueued();
  }
  last_record_ = std::make_shared<OpenClEvent>(std::move(event), queue_);
  return last_record_;
}

Result<std::byte*> OpenClStream::Map(Buffer& buffer, std::int64_t offset_bytes,
                                     std::int64_t bytes) {
  auto* memory = dynamic_cast<OpenClBuffer*>(&buffer);
  if (memory == nullptr || !buffer.Holds(offset_bytes, bytes)) {
    return UsageError("mapping beyond the end of the buffer, or another backend's");
  }
  const auto [count, waits] = Waits();
  cl_int code = CL_SUCCESS;
  void* const mapped =
      clEnqueueMapBuffer(queue_(), memory->memory()(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
                         static_cast<std::size_t>(offset_bytes), static_cast<std::size_t>(bytes),
                         count, waits, nullptr, &code);
  REPRISE_TRY(ClStatus("mapping a buffer", code));
  Enqueued();
  return static_cast<std::byte*>(mapped);
}

Status OpenClStream::Unmap(Buffer& buffer, std::byte* mapped) {
  auto* memory = dynamic_cast<OpenClBuffer*>(&buffer);
  if (memory == nullptr) {
    return UsageError("a buffer of another backend");
  }
  const auto [count, waits] = Waits();
  REPRISE_TRY(ClStatus(
      "unmapping a buffer",
      clEnqueueUnmapMemObject(queue_(), memory->memory()(), mapped, count, waits, nullptr)));
  Enqueued();
  return {};
}

Status OpenClStream::Upload(Buffer& dst, std::int64_t offset_bytes, const void* src,
                            std::int64_t bytes) {
  auto* buffer = dynamic_cast<OpenClBuffer*>(&dst);
  if (buffer == nullptr || !dst.Holds(offset_bytes, bytes)) {
    return UsageError("upload beyond the end of the buffer, or into another backend's");
  }
  if (bytes == 0) {
    return {};
  }
  const auto [count, waits] = Waits();
  REPRISE_TRY(ClStatus("an upload", clEnqueueWriteBuffer(queue_(), buffer->memory()(), CL_FALSE,
                                                         static_cast<std::size_t>(offset_bytes),
                                                         static_cast<std::size_t>(bytes), src,
                                                         count, waits, nullptr)));
  Enqueued();
  return {};
}

Status OpenClStream::Download(void* dst, const Buffer& src, std::int64_t offset_bytes,
                              std::int64_t bytes) {
  const auto* buffer = dynamic_cast<const OpenClBuffer*>(&src);
  if (buffer == nullptr || !src.Holds(offset_bytes, bytes)) {
    return UsageError("download beyond the end of the buffer, or from another backend's");
  }
  if (bytes == 0) {
    return {};
  }
  const auto [count, waits] = Waits();
  REPRISE_TRY(ClStatus("a download", clEnqueueReadBuffer(queue_(), buffer->memory()(), CL_FALSE,
                                                         static_cast<std::size_t>(offset_bytes),
                                                         static_cast<std::size_t>(bytes), dst,
                                                         count, waits, nullptr)));
  Enqueued();
  return {};
}

Status OpenClStream::Flush() {
  unflushed_ = 0;
  return ClStatus("flushing a queue", clFlush(queue_()));
}

Status OpenClStream::Finish() {
  unflushed_ = 0;
  REPRISE_TRY(ClStatus("finishing a queue", clFinish(queue_())));
  // clFinish says nothing of commands that failed; their events do.
  return Harvest(0, true);
}

Status OpenClStream::Harvest(std::size_t keep, bool wait) {
  while (live_.size() > keep) {
    const cl_event raw = live_.front()();
    const cl_int status = ExecutionStatus(live_.front());
    if (status > CL_COMPLETE) {
      if (!wait) {
        return {};
      }
      REPRISE_TRY(Flush());
      REPRISE_TRY(ClStatus("a command", clWaitForEvents(1, &raw)));
    } else if (status < 0) {
      return tl::unexpected(ClError("a command", status));
    }
    cl_ulong start = 0;
    cl_ulong end = 0;
    REPRISE_TRY(ClStatus(
        "reading an event's time",
        clGetEventProfilingInfo(raw, CL_PROFILING_COMMAND_START, sizeof(start), &start, nullptr)));
    REPRISE_TRY(ClStatus(
        "reading an event's time",
        clGetEventProfilingInfo(raw, CL_PROFILING_COMMAND_END, sizeof(end), &end, nullptr)));
    device_times_.push_back({static_cast<std::int64_t>(start), static_cast<std::int64_t>(end)});
    live_.pop_front();
    timed_last_ = timed_last_ && !live_.empty();
  }
  return {};
}

Result<std::vector<Stream::Times>> OpenClStream::TakeTimes() {
  REPRISE_TRY(Harvest(0, true));
  clock_.Refresh();
  std::vector<Times> times;
  times.swap(device_times_);
  for (Times& time : times) {
    time = {clock_.ToHostNs(time.start_ns), clock_.ToHostNs(time.end_ns)};
  }
  return times;
}

}  // namespace reprise
