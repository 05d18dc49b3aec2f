#include "core/ordered_pipeline.h"

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "core/parallel.h"

namespace reprise {
namespace {

class OrderedPipeline {
 public:
  OrderedPipeline(std::size_t slots, const PipelineStages& stages)
      : stages_(stages), worked_on_(slots, 0) {}

  void Run() {
    Work(/*helps=*/false);
    for (std::thread& helper : helpers_) {
      helper.join();
    }
    if (failure_) {
      std::rethrow_exception(failure_);
    }
  }

 private:
  // A helper leaves when only other threads' items are unfinished: each of them looks for what it
  // can finish once its own is worked on.
  void Work(bool helps) {
    std::unique_lock lock(mutex_);
    while (!failure_) {
      if (!is_finishing_ && finished_ < begun_ && worked_on_[finished_ % worked_on_.size()] != 0) {
        FinishOne(lock);
      } else if (!has_ended_ && !is_beginning_ && begun_ - finished_ < worked_on_.size()) {
        BeginOne(lock);
      } else if (has_ended_ && (helps || finished_ == begun_)) {
        return;
      } else {
        changed_.wait(lock);
      }
    }
  }

  void FinishOne(std::unique_lock<std::mutex>& lock) {
    const std::size_t slot = finished_ % worked_on_.size();
    is_finishing_ = true;
    Call(lock, [&] { stages_.finish(slot); });
    is_finishing_ = false;
    worked_on_[slot] = 0;
    ++finished_;
    changed_.notify_all();
  }

  void BeginOne(std::unique_lock<std::mutex>& lock) {
    const std::size_t slot = begun_ % worked_on_.size();
    bool more = false;
    is_beginning_ = true;
    Call(lock, [&] { more = stages_.next(slot); });
    is_beginning_ = false;
    if (more) {
      ++begun_;
      AddHelper();
    } else {
      has_ended_ = true;
    }
    changed_.notify_all();
    if (more && !failure_) {
      Call(lock, [&] { stages_.work(slot); });
      worked_on_[slot] = 1;
    }
  }

  // Without the lock.
  template <typename Stage>
  void Call(std::unique_lock<std::mutex>& lock, const Stage& stage) {
    lock.unlock();
    std::exception_ptr failure;
    try {
      stage();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure && !failure_) {
      failure_ = failure;
      changed_.notify_all();
    }
  }

  void AddHelper() {
    if (helpers_.size() + 1 >= worked_on_.size() || !TakeSpareCore()) {
      return;
    }
    try {
      helpers_.emplace_back([this] {
        Work(/*helps=*/true);
        ReturnCore();
      });
    } catch (const std::system_error&) {  // the machine has no more threads
      ReturnCore();
    }
  }

  const PipelineStages& stages_;
  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::vector<char> worked_on_;  // by slot
  std::vector<std::thread> helpers_;
  std::size_t begun_ = 0, finished_ = 0;
  bool is_beginning_ = false, is_finishing_ = false, has_ended_ = false;
  std::exception_ptr failure_;
};

}  // namespace

void RunOrderedPipeline(std::size_t slots, const PipelineStages& stages) {
  OrderedPipeline(slots, stages).Run();
}

}  // namespace reprise
