#include "kernels/cpu/parts.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "core/parallel.h"
#include "kernels/cpu/result_stream.h"

namespace reprise {
namespace {

using Body = std::function<void(std::int64_t, std::int64_t)>;

// Parts for each core: more than one, because cores are shared and seldom equally fast.
constexpr std::int64_t kPartsPerCore = 4;

// A share of the work for each thread, which takes the share's parts in order: what one part has
// fetched ahead is there for the next, and the same thread finds again what it wrote in the call
// before. Who is done helps the others.
class Job {
 public:
  Job(const Body& body, std::int64_t count, std::int64_t part, std::int64_t threads)
      : body_(body), part_(part), shares_(static_cast<std::size_t>(threads)) {
    const std::int64_t parts = (count + part - 1) / part;
    std::int64_t begin = 0;
    for (std::int64_t i = 0; i < threads; ++i) {
      const std::int64_t end = std::min(count, parts * (i + 1) / threads * part);
      Share& share = shares_[static_cast<std::size_t>(i)];
      share.next = begin;
      share.end = begin = end;
    }
  }
  void Work(std::size_t thread) {
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      Share& share = shares_[(thread + i) % shares_.size()];
      for (std::int64_t begin = 0; (begin = share.next.fetch_add(part_)) < share.end;) {
        body_(begin, std::min(share.end, begin + part_));
      }
    }
  }

 private:
  struct alignas(64) Share {  // a cache line of its own
    std::atomic<std::int64_t> next = 0;
    std::int64_t end = 0;
  };
  const Body& body_;
  const std::int64_t part_;
  std::vector<Share> shares_;
};

// One job at a time.
class Workers {
 public:
  explicit Workers(int count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this, i] { Serve(static_cast<std::size_t>(i) + 1); });
    }
  }
  ~Workers() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(threads_.size()); }

  // False if another thread's job is running.
  bool Run(Job& job) {
    if (running_.exchange(true, std::memory_order_acquire)) {
      return false;  // or this one's own, of which the caller is a part
    }
    {
      const std::lock_guard lock(mutex_);
      job_ = &job;
      ++jobs_;
    }
    changed_.notify_all();
    job.Work(0);
    std::unique_lock lock(mutex_);
    job_ = nullptr;  // who comes late finds nothing
    left_.wait(lock, [&] { return inside_ == 0; });
    running_.store(false, std::memory_order_release);
    return true;
  }

 private:
  void Serve(std::size_t thread) {
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stop_ || (job_ != nullptr && jobs_ != seen); });
      if (stop_) {
        return;
      }
      seen = jobs_;
      Job& job = *job_;
      ++inside_;
      lock.unlock();
      job.Work(thread);
      lock.lock();
      if (--inside_ == 0) {
        left_.notify_one();
      }
    }
  }

  std::atomic<bool> running_ = false;
  std::mutex mutex_;
  std::condition_variable changed_, left_;
  Job* job_ = nullptr;
  std::uint64_t jobs_ = 0;
  int inside_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

std::int64_t PartCores() {
  static const std::int64_t cores = OwnCores();
  return cores;
}

void InParts(std::int64_t count, std::int64_t grain, const Body& body) {
  if (count <= 0) {
    return;
  }
  static Workers workers(static_cast<int>(PartCores()) - 1);
  const std::int64_t pieces = PartCores() * kPartsPerCore;
  const std::int64_t part = std::max(grain, (count + pieces - 1) / pieces);
  if (workers.count() > 0 && part * 2 <= count) {
    Job job(body, count, part, workers.count() + 1);
    if (workers.Run(job)) {
      return;
    }
  }
  body(0, count);
}

void CopyInParts(std::byte* to, const std::byte* from, std::int64_t bytes) {
  InParts(bytes, GrainOf(2), [=](std::int64_t begin, std::int64_t end) {
    const std::array<const void*, 1> ahead = {
        from + begin + ResultStream::kAheadFloats * std::int64_t{sizeof(float)}};
    ResultStream(bytes).Copy(to + begin, from + begin, end - begin, ahead);
  });
}

}  // namespace reprise
