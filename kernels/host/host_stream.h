// An in-order queue of functions on a thread of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "kernels/device.h"

namespace reprise {

// Set once, by the stream's thread.
class HostEvent : public Event {
 public:
  [[nodiscard]] bool IsDone() const override;
  [[nodiscard]] Status Wait() const override;
  void Complete(Status status);

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::atomic<bool> done_ = false;
  Status status_;
};

// Shared with the streams that it waits in: what a function keeps, a whole call mostly, is not
// copied each time.
class HostLaunch : public PreparedLaunch {
 public:
  explicit HostLaunch(std::function<Status()> run) : HostLaunch(HostTask{std::move(run)}) {}
  explicit HostLaunch(HostTask a_task)
      : task(std::make_shared<const HostTask>(std::move(a_task))) {}
  const std::shared_ptr<const HostTask> task;
};

// After a failed task the later ones still run, so that no thread waits for ever; the first error
// is what Finish() and events recorded after it report.
class HostStream : public Stream {
 public:
  explicit HostStream(bool profiling);
  ~HostStream() override;

  [[nodiscard]] Status Enqueue(const PreparedLaunch& launch) override;
  [[nodiscard]] Status WaitFor(std::span<const EventPtr> events) override;
  [[nodiscard]] Result<EventPtr> Record() override;
  [[nodiscard]] Status Upload(Buffer& dst, std::int64_t offset_bytes, const void* src,
                              std::int64_t bytes) override;
  [[nodiscard]] Status Download(void* dst, const Buffer& src, std::int64_t offset_bytes,
                                std::int64_t bytes) override;
  [[nodiscard]] Result<std::byte*> Map(Buffer& buffer, std::int64_t offset_bytes,
                                       std::int64_t bytes) override;
  [[nodiscard]] bool Stretch(std::size_t launches, double factor) override;
  [[nodiscard]] Status Flush() override { return {}; }
  [[nodiscard]] Status Finish() override;
  [[nodiscard]] Result<std::vector<Times>> TakeTimes() override;

 private:
  struct Task {
    std::shared_ptr<const HostTask> task;
    bool timed = false;
  };
  void Push(Task task);
  void Push(std::function<Status()> run);
  void Work();
  static void BeginLater();
  void Run(const Task& task);
  // `lock` is held before and after, not while it runs.
  void RunFirst(std::unique_lock<std::mutex>& lock);

  const bool profiling_;
  const bool one_core_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool stop_ = false;
  bool busy_ = false;
  // Written by the thread that runs a task, one at a time; read after Finish().
  Status first_error_;
  std::vector<Times> times_;
  std::thread thread_;
};

}  // namespace reprise
