#include "kernels/cpu/parallel_for.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "core/parallel.h"
#include "kernels/cpu/non_temporal_store.h"

namespace reprise {
namespace {

using Body = std::function<void(std::int64_t, std::int64_t)>;

// More than one chunk per core, because cores are shared and seldom equally fast.
constexpr std::int64_t kChunksPerCore = 4;

// Each thread has a share of the work and takes its chunks in order. The next chunk then uses what
// the last one prefetched, and in the next call the same thread finds its data in its cache. A
// thread that finishes early takes chunks from the others.
class Job {
 public:
  Job(const Body& body, std::int64_t count, std::int64_t chunk, std::int64_t threads)
      : body_(body), chunk_(chunk), shares_(static_cast<std::size_t>(threads)) {
    const std::int64_t chunks = (count + chunk - 1) / chunk;
    std::int64_t begin = 0;
    for (std::int64_t i = 0; i < threads; ++i) {
      const std::int64_t end = std::min(count, chunks * (i + 1) / threads * chunk);
      Share& share = shares_[static_cast<std::size_t>(i)];
      share.next = begin;
      share.end = begin = end;
    }
  }
  void Work(std::size_t thread) {
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      Share& share = shares_[(thread + i) % shares_.size()];
      for (std::int64_t begin = 0; (begin = share.next.fetch_add(chunk_)) < share.end;) {
        body_(begin, std::min(share.end, begin + chunk_));
      }
    }
  }

 private:
  struct alignas(64) Share {  // a cache line of its own
    std::atomic<std::int64_t> next = 0;
    std::int64_t end = 0;
  };
  const Body& body_;
  const std::int64_t chunk_;
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
      return false;  // that thread may be this one, within its own job
    }
    {
      const std::lock_guard lock(mutex_);
      job_ = &job;
      ++jobs_;
    }
    changed_.notify_all();
    job.Work(0);
    std::unique_lock lock(mutex_);
    job_ = nullptr;  // a worker that wakes late finds no job
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

std::int64_t ParallelCores() {
  static const std::int64_t cores = OwnCores();
  return cores;
}

void ParallelFor(std::int64_t count, std::int64_t grain_size, const Body& body) {
  if (count <= 0) {
    return;
  }
  static Workers workers(static_cast<int>(ParallelCores()) - 1);
  const std::int64_t wanted = ParallelCores() * kChunksPerCore;
  const std::int64_t chunk = std::max(grain_size, (count + wanted - 1) / wanted);
  if (workers.count() > 0 && chunk * 2 <= count) {
    Job job(body, count, chunk, workers.count() + 1);
    if (workers.Run(job)) {
      return;
    }
  }
  body(0, count);
}

void ParallelCopy(std::byte* to, const std::byte* from, std::int64_t bytes) {
  ParallelFor(bytes, GrainSize(2), [=](std::int64_t begin, std::int64_t end) {
    const std::array<const void*, 1> ahead = {
        from + begin + NonTemporalStore::kAheadFloats * std::int64_t{sizeof(float)}};
    NonTemporalStore(bytes).Copy(to + begin, from + begin, end - begin, ahead);
  });
}

}  // namespace reprise
