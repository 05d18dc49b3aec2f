#include "replayer/engine/scheduler.h"

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace reprise {

struct Scheduler::Impl {
  // A ready node that no running task can take along is spawned in batches, so that a wide graph
  // costs one task per batch, not per node.
  static constexpr std::size_t kBatch = 256;
  // How often a task that continues with successors reports progress to the watchdog.
  static constexpr std::uint32_t kReportEvery = 256;

  Impl(const DependencyGraph& g, int workers)
      : graph(g),
        waiting(g.size()),
        allowed(tbb::global_control::max_allowed_parallelism,
                static_cast<std::size_t>(tbb::this_task_arena::max_concurrency() + 1)),
        arena(WorkerCount(workers), 0) {}

  // TBB owns one worker less than there are cores and warns when asked for more.
  static int WorkerCount(int wanted) {
    const int available = std::max(tbb::this_task_arena::max_concurrency() - 1, 1);
    return std::clamp(wanted, 1, available);
  }

  void Reset(const Body& new_body) {
    for (std::uint32_t i = 0; i < graph.size(); ++i) {
      waiting[i].store(graph.dependency_count[i], std::memory_order_relaxed);
    }
    body = &new_body;
    left.store(graph.size(), std::memory_order_relaxed);
    stopped.store(false);
  }

  // Decrements the successors of a finished node; those that became ready are appended.
  void Release(std::uint32_t node, std::vector<std::uint32_t>& ready) {
    for (const std::uint32_t successor : graph.successors.Of(node)) {
      if (waiting[successor].fetch_sub(1, std::memory_order_acq_rel) == 1) {
        ready.push_back(successor);
      }
    }
  }

  void Finished(std::uint32_t count) {
    if (left.fetch_sub(count) == count) {
      Wake();
    }
  }

  void Wake() {
    const std::lock_guard lock(mutex);
    changed.notify_all();
  }

  // Runs ready nodes depth first, newest first, and spawns what is too much for one task.
  void Work(std::vector<std::uint32_t> ready) {
    std::uint32_t done = 0;
    while (!ready.empty() && !stopped.load(std::memory_order_relaxed)) {
      while (ready.size() > kBatch) {
        Spawn({ready.end() - kBatch, ready.end()});
        ready.resize(ready.size() - kBatch);
      }
      const std::uint32_t node = ready.back();
      ready.pop_back();
      if ((*body)(node) == NodeState::kDone) {
        Release(node, ready);
        if (++done == kReportEvery) {
          Finished(std::exchange(done, 0));
        }
      }
    }
    if (done > 0) {
      Finished(done);
    }
  }

  // Run() returns only when no task is left: a task may touch `this` after the last node is done.
  void BeginTask() { tasks.fetch_add(1); }
  // Between two waits of a thread there is often no task: Run() is woken by the last one only. (Who
  // counts `left` or sets `stopped` wakes it as well, so that one of both sees the other.)
  void EndTask() {
    if (tasks.fetch_sub(1) == 1 && (left.load() == 0 || stopped.load())) {
      Wake();
    }
  }

  void Spawn(std::vector<std::uint32_t> ready) {
    BeginTask();
    arena.enqueue([this, ready = std::move(ready)] {
      Work(ready);
      EndTask();
    });
  }

  const DependencyGraph& graph;
  std::vector<std::atomic<std::uint32_t>> waiting;
  tbb::global_control allowed;  // a worker beside those of parallel loops, on one core too
  tbb::task_arena arena;
  const Body* body = nullptr;
  std::atomic<std::uint32_t> left = 0;
  std::atomic<std::uint32_t> tasks = 0;
  std::atomic<bool> stopped = false;
  std::mutex mutex;
  std::condition_variable changed;
};

Scheduler::Scheduler(const DependencyGraph& graph, int workers)
    : impl_(std::make_unique<Impl>(graph, workers)) {}

Scheduler::~Scheduler() = default;

bool Scheduler::Run(const Body& body) {
  Impl& impl = *impl_;
  impl.Reset(body);
  std::vector<std::uint32_t> roots;
  for (std::uint32_t i = 0; i < impl.graph.size(); ++i) {
    if (impl.graph.dependency_count[i] == 0) {
      roots.push_back(i);
    }
  }
  // Newest first inside a task: the earliest recorded root is to run first.
  std::reverse(roots.begin(), roots.end());
  if (!roots.empty()) {
    impl.Spawn(std::move(roots));
  }
  std::unique_lock lock(impl.mutex);
  impl.changed.wait(lock, [&] {
    return impl.tasks.load() == 0 && (impl.left.load() == 0 || impl.stopped.load());
  });
  return impl.left.load() == 0;
}

void Scheduler::Complete(std::uint32_t node) {
  std::vector<std::uint32_t> ready;
  impl_->Release(node, ready);
  if (!ready.empty()) {
    impl_->Spawn(std::move(ready));
  }
  impl_->Finished(1);
}

void Scheduler::CompleteHere(std::uint32_t node) {
  impl_->BeginTask();
  std::vector<std::uint32_t> ready;
  impl_->Release(node, ready);
  impl_->Finished(1);
  impl_->Work(std::move(ready));
  impl_->EndTask();
}

void Scheduler::Stop() {
  impl_->stopped.store(true);
  impl_->Wake();
}

std::uint32_t Scheduler::remaining() const { return impl_->left.load(); }

}  // namespace reprise
