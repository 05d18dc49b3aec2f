#include "kernels/cpu/parallel_for.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <array>
#include <mutex>
#include <utility>

#include "core/parallel.h"
#include "kernels/cpu/non_temporal_store.h"

namespace reprise {

std::int64_t ParallelCores() {
  static const std::int64_t cores = OwnCores();
  return cores;
}

void ParallelFor(std::int64_t count, std::int64_t grain_size,
                 const std::function<void(std::int64_t, std::int64_t)>& body) {
  if (count <= 0) {
    return;
  }
  if (ParallelCores() == 1 || count < 2 * grain_size) {
    body(0, count);
    return;
  }
  // Of this thread alone: one that waits for its chunks takes no work of others meanwhile.
  static thread_local tbb::task_arena arena(static_cast<int>(ParallelCores()));
  using Range = tbb::blocked_range<std::int64_t>;
  arena.execute([&] {
    tbb::parallel_for(Range(0, count, static_cast<std::size_t>(grain_size)),
                      [&](const Range& range) { body(range.begin(), range.end()); });
  });
}

void ParallelCopy(std::byte* to, const std::byte* from, std::int64_t bytes) {
  ParallelFor(bytes, GrainSize(2), [=](std::int64_t begin, std::int64_t end) {
    const std::array<const void*, 1> ahead = {
        from + begin + NonTemporalStore::kAheadFloats * std::int64_t{sizeof(float)}};
    NonTemporalStore(bytes).Copy(to + begin, from + begin, end - begin, ahead);
  });
}

Status TryParallelFor(std::int64_t count, std::int64_t grain_size,
                      const std::function<Status(std::int64_t begin, std::int64_t end)>& body) {
  std::mutex mutex;
  Status status;
  ParallelFor(count, grain_size, [&](std::int64_t begin, std::int64_t end) {
    if (Status one = body(begin, end); !one) {
      const std::lock_guard lock(mutex);
      status = std::move(one);
    }
  });
  return status;
}

}  // namespace reprise
