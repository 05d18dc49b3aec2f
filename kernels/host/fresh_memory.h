// Memory of operators' results that is new to the process, as it was in the recorded one.
//
// An allocator returns freed memory to the system once there is enough of it, and each page that it
// gets back costs a page fault, up to two fifths of a step on a CPU. When it does so depends on all
// that the program ever allocated: glibc's mmap_threshold and trim_threshold follow the largest
// block freed so far (malloc/malloc.c, __libc_free). A replay has another history, so it keeps what
// is freed and returns as many pages as the original did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace reprise {

// Thread-safe.
class FreshMemory {
 public:
  // Before each iteration, while nothing runs. The pages come from all freed results of at least
  // 128 KiB in proportion to their sizes, which the first iteration finds out; it returns none.
  void BeginIteration(std::int64_t page_faults);
  // A result's memory is about to be freed. Its contents may be lost.
  void BeforeFree(std::byte* data, std::int64_t bytes);

 private:
  std::mutex mutex_;
  bool allocator_keeps_ = false;
  std::int64_t freed_pages_ = 0;  // in this iteration
  double share_ = 0;              // of freed pages that go back to the system
  double due_pages_ = 0;          // still to go back; negative: too many went
};

}  // namespace reprise
