#include "kernels/host/host_stream.h"

#include <pthread.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <limits>
#include <new>
#include <utility>

#include "core/clock.h"
#include "core/parallel.h"

namespace reprise {

bool HostEvent::IsDone() const { return done_.load(std::memory_order_acquire); }

Status HostEvent::Wait() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_.load(); });
  return status_;
}

void HostEvent::Complete(Status status) {
  {
    const std::lock_guard lock(mutex_);
    status_ = std::move(status);
    done_.store(true, std::memory_order_release);
  }
  changed_.notify_all();
}

HostStream::HostStream(bool profiling)
    : profiling_(profiling), one_core_(OwnCores() == 1), thread_([this] { Work(); }) {}

HostStream::~HostStream() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void HostStream::Push(Task task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_all();
}

void HostStream::Push(std::function<Status()> run) {
  Push(Task{.task = std::make_shared<const HostTask>(HostTask{std::move(run)})});
}

// On a core that it shares with the enqueuing thread, the stream begins when that one waits: else
// each node would cost two changes of threads.
void HostStream::BeginLater() {
  const sched_param none{};
  (void)pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);  // or it is as it was
}

void HostStream::Work() {
  BeginLater();
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || !tasks_.empty(); });
    if (tasks_.empty()) {
      return;  // stopped, and everything enqueued has run
    }
    if (busy_) {
      changed_.wait(lock, [&] { return !busy_; });  // Finish() runs a task
    } else {
      RunFirst(lock);
    }
  }
}

void HostStream::RunFirst(std::unique_lock<std::mutex>& lock) {
  const Task task = std::move(tasks_.front());
  tasks_.pop_front();
  busy_ = true;
  lock.unlock();
  Run(task);
  lock.lock();
  busy_ = false;
  if (tasks_.empty()) {
    changed_.notify_all();  // Finish() may be waiting
  }
}

void HostStream::Run(const Task& task) {
  Times times;
  Status status;
  try {
    if (task.task->before) {
      task.task->before();
    }
    times.start_ns = MonotonicNs();
    status = task.task->run();
    times.end_ns = MonotonicNs();
    if (task.task->after) {
      task.task->after();
    }
  } catch (const std::bad_alloc&) {
    times.end_ns = MonotonicNs();
    status = EnvironmentError(
        "out of memory in a kernel; give the process more (ulimit -v, a container's limit), or use "
        "--ops timed");
  } catch (const std::exception& error) {
    times.end_ns = MonotonicNs();
    status = EnvironmentError(std::string("a host task failed: ") + error.what());
  }
  if (task.timed) {
    times_.push_back(times);
  }
  if (!status && first_error_) {
    first_error_ = std::move(status);
  }
}

Status HostStream::Enqueue(const PreparedLaunch& launch) {
  const auto* host = dynamic_cast<const HostLaunch*>(&launch);
  if (host == nullptr) {
    return UsageError("a launch prepared by another backend was enqueued on the host");
  }
  // Shared: the prepared launch may go away before the task has run.
  Push(Task{.task = host->task, .timed = profiling_});
  return {};
}

Status HostStream::WaitFor(std::span<const EventPtr> events) {
  Push([kept = std::vector<EventPtr>(events.begin(), events.end())]() -> Status {
    for (const EventPtr& event : kept) {
      REPRISE_TRY(event->Wait());
    }
    return {};
  });
  return {};
}

Result<EventPtr> HostStream::Record() {
  auto event = std::make_shared<HostEvent>();
  Push([this, event]() -> Status {
    event->Complete(first_error_);
    return {};
  });
  return event;
}

Status HostStream::Upload(Buffer& dst, std::int64_t offset_bytes, const void* src,
                          std::int64_t bytes) {
  if (!dst.Holds(offset_bytes, bytes)) {
    return UsageError("upload beyond the end of the buffer");
  }
  // Where the buffer is by then.
  Push([&dst, offset_bytes, src, bytes]() -> Status {
    std::copy_n(static_cast<const std::byte*>(src), bytes, dst.host_data() + offset_bytes);
    return {};
  });
  return {};
}

Status HostStream::Download(void* dst, const Buffer& src, std::int64_t offset_bytes,
                            std::int64_t bytes) {
  if (!src.Holds(offset_bytes, bytes)) {
    return UsageError("download beyond the end of the buffer");
  }
  // host_data() hands out writable memory, hence not const; nothing is written here.
  Push([dst, &from = const_cast<Buffer&>(src), offset_bytes, bytes]() -> Status {
    std::copy_n(from.host_data() + offset_bytes, bytes, static_cast<std::byte*>(dst));
    return {};
  });
  return {};
}

Result<std::byte*> HostStream::Map(Buffer& buffer, std::int64_t offset_bytes, std::int64_t bytes) {
  if (!buffer.Holds(offset_bytes, bytes)) {
    return UsageError("mapping beyond the end of the buffer");
  }
  REPRISE_TRY(Finish());
  return buffer.host_data() + offset_bytes;
}

bool HostStream::Stretch(std::size_t launches, double factor) {
  if (!profiling_ || launches == 0) {
    return false;
  }
  Push([this, launches, factor]() -> Status {
    const std::int64_t start_ns = times_.at(times_.size() - launches).start_ns;
    std::int64_t& end_ns = times_.back().end_ns;
    const auto lasts = factor * static_cast<double>(end_ns - start_ns);
    // Spins, however long it takes: a slower operation would have used the core as well.
    WaitUntilNs(start_ns + static_cast<std::int64_t>(std::llround(lasts)),
                std::numeric_limits<std::int64_t>::max());
    end_ns = MonotonicNs();
    return {};
  });
  return true;
}

// On one core the caller does what the stream has not begun, rather than change threads twice. On
// several it does not: libraries keep threads of their own for each thread that calls them.
Status HostStream::Finish() {
  std::unique_lock lock(mutex_);
  while (one_core_ && !busy_ && !tasks_.empty()) {
    RunFirst(lock);
  }
  changed_.wait(lock, [&] { return tasks_.empty() && !busy_; });
  return std::exchange(first_error_, Status());
}

Result<std::vector<Stream::Times>> HostStream::TakeTimes() {
  return std::exchange(times_, std::vector<Times>());
}

}  // namespace reprise
