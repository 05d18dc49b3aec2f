#include "kernels/opencl/opencl_stream.h"

namespace reprise {
namespace {

// Drivers batch commands until a flush; this many are worth starting on.
constexpr int kFlushEvery = 32;
// Live events of a profiling stream; beyond, finished ones are read, and at the hard limit waited
// for. Drivers slow down, or run out, with tens of thousands.
constexpr std::size_t kWindow = 2048;
constexpr std::size_t kHardLimit = 8192;

std::size_t Size(std::int64_t bytes) { return static_cast<std::size_t>(bytes); }

cl_mem MemoryOf(const Buffer* buffer) {
  return static_cast<const OpenClBuffer*>(buffer)->memory()();
}

std::size_t Dimensions(const std::array<std::size_t, 3>& global) {
  return global[2] > 1 ? 3 : (global[1] > 1 ? 2 : 1);
}

cl_int ExecutionStatus(const cl::Event& event) {
  cl_int status = CL_COMPLETE;
  const cl_int code =
      clGetEventInfo(event(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, nullptr);
  return code == CL_SUCCESS ? status : code;
}

Result<std::int64_t> TimeOf(cl_event event, cl_profiling_info which) {
  cl_ulong ns = 0;
  REPRISE_TRY(ClStatus("reading an event's time",
                       clGetEventProfilingInfo(event, which, sizeof(ns), &ns, nullptr)));
  return static_cast<std::int64_t>(ns);
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

template <typename Call>
Status OpenClStream::Command(std::string_view what, Call&& call) {
  static_assert(sizeof(cl::Event) == sizeof(cl_event));  // the bindings pass lists so, too
  const auto* events = waits_.empty() ? nullptr : reinterpret_cast<const cl_event*>(waits_.data());
  REPRISE_TRY(ClStatus(what, call(static_cast<cl_uint>(waits_.size()), events)));
  waits_.clear();
  last_record_ = nullptr;
  timed_last_ = false;
  return {};
}

Status OpenClStream::EnqueueLaunch(const OpenClLaunch& launch, cl_event* event) {
  if (launch.empty) {
    return Command("enqueueing a time mark", [&](cl_uint count, const cl_event* waits) {
      return clock_.EnqueueMark(queue_, count, waits, event);
    });
  }
  if (const auto* range = std::get_if<OpenClLaunch::KernelRange>(&launch.command)) {
    return Command("enqueueing a kernel", [&](cl_uint count, const cl_event* waits) {
      return clEnqueueNDRangeKernel(
          queue_(), range->kernel(), static_cast<cl_uint>(Dimensions(range->global)), nullptr,
          range->global.data(), range->has_local ? range->local.data() : nullptr, count, waits,
          event);
    });
  }
  if (const auto* copy = std::get_if<DeviceCopy>(&launch.command)) {
    return Command("enqueueing a copy", [&](cl_uint count, const cl_event* waits) {
      return clEnqueueCopyBuffer(queue_(), MemoryOf(copy->src), MemoryOf(copy->dst),
                                 Size(copy->src_offset_bytes), Size(copy->dst_offset_bytes),
                                 Size(copy->bytes), count, waits, event);
    });
  }
  if (const auto* foreign = std::get_if<OpenClLaunch::Foreign>(&launch.command)) {
    // A library takes no wait list.
    REPRISE_TRY(
        Command("waiting for events of another stream", [&](cl_uint count, const cl_event* waits) {
          return count == 0 ? CL_SUCCESS
                            : clEnqueueBarrierWithWaitList(queue_(), count, waits, nullptr);
        }));
    return foreign->enqueue(queue_(), event);
  }
  const auto& fill = std::get<DeviceFill>(launch.command);
  return Command("enqueueing a fill", [&](cl_uint count, const cl_event* waits) {
    return clEnqueueFillBuffer(queue_(), MemoryOf(fill.dst), fill.pattern.data(),
                               fill.pattern.size(), Size(fill.offset_bytes), Size(fill.bytes),
                               count, waits, event);
  });
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
  REPRISE_TRY(EnqueueLaunch(*prepared, profiling_ ? &event : nullptr));
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
    if (opencl->queue()() == queue_() ||  // in order anyway
        ExecutionStatus(opencl->event()) == CL_COMPLETE) {
      continue;
    }
    REPRISE_TRY(opencl->FlushQueue());
    waits_.push_back(opencl->event());
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
    REPRISE_TRY(Command("enqueueing a marker", [&](cl_uint count, const cl_event* waits) {
      return clEnqueueMarkerWithWaitList(queue_(), count, waits, &event());
    }));
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
  void* mapped = nullptr;
  REPRISE_TRY(Command("mapping a buffer", [&](cl_uint count, const cl_event* waits) {
    cl_int code = CL_SUCCESS;
    mapped = clEnqueueMapBuffer(queue_(), memory->memory()(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
                                Size(offset_bytes), Size(bytes), count, waits, nullptr, &code);
    return code;
  }));
  return static_cast<std::byte*>(mapped);
}

Status OpenClStream::Unmap(Buffer& buffer, std::byte* mapped) {
  auto* memory = dynamic_cast<OpenClBuffer*>(&buffer);
  if (memory == nullptr) {
    return UsageError("a buffer of another backend");
  }
  return Command("unmapping a buffer", [&](cl_uint count, const cl_event* waits) {
    return clEnqueueUnmapMemObject(queue_(), memory->memory()(), mapped, count, waits, nullptr);
  });
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
  return Command("an upload", [&](cl_uint count, const cl_event* waits) {
    return clEnqueueWriteBuffer(queue_(), buffer->memory()(), CL_FALSE, Size(offset_bytes),
                                Size(bytes), src, count, waits, nullptr);
  });
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
  return Command("a download", [&](cl_uint count, const cl_event* waits) {
    return clEnqueueReadBuffer(queue_(), buffer->memory()(), CL_FALSE, Size(offset_bytes),
                               Size(bytes), dst, count, waits, nullptr);
  });
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
    REPRISE_ASSIGN(const std::int64_t start, TimeOf(raw, CL_PROFILING_COMMAND_START));
    REPRISE_ASSIGN(const std::int64_t end, TimeOf(raw, CL_PROFILING_COMMAND_END));
    device_times_.push_back({start, end});
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
