#include "kernels/host/fresh_memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <memory>
#include <utility>

namespace reprise {
namespace {

// glibc gives larger blocks mappings of their own whatever its settings, here and in the original.
constexpr std::int64_t kMaxKeptBytes = std::int64_t{32} << 20;

// A call of the system for less would cost more than its pages. glibc returns no less by default
// (M_TRIM_THRESHOLD).
constexpr std::int64_t kMinReturnedPages = 32;

// Of a block, what shares no page with others.
struct WholePages {
  WholePages(void* block, std::size_t block_bytes) : begin(block) {
    std::size_t bytes = block_bytes;
    count = std::align(page_bytes, page_bytes, begin, bytes) == nullptr
                ? 0
                : static_cast<std::int64_t>(bytes / page_bytes);
  }

  const std::size_t page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* begin;
  std::int64_t count = 0;
};

void LetAllocatorKeep() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, static_cast<int>(kMaxKeptBytes));
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
}

}  // namespace

void FreshMemory::BeginIteration(std::int64_t page_faults) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(allocator_keeps_, true)) {
    LetAllocatorKeep();
  }
  share_ =
      freed_pages_ == 0
          ? 0
          : std::min(1.0, static_cast<double>(page_faults) / static_cast<double>(freed_pages_));
  freed_pages_ = 0;
  due_pages_ = 0;
}

void FreshMemory::BeforeFree(std::byte* data, std::int64_t bytes) {
  const WholePages pages(data, static_cast<std::size_t>(bytes));
  if (pages.count < kMinReturnedPages) {
    return;
  }
  const std::lock_guard lock(mutex_);
  freed_pages_ += pages.count;
  due_pages_ += share_ * static_cast<double>(pages.count);
  if (bytes >= kMaxKeptBytes) {  // goes back as a whole
    due_pages_ -= static_cast<double>(pages.count);
    return;
  }
  const std::int64_t returned = std::min(pages.count, static_cast<std::int64_t>(due_pages_));
  if (returned >= kMinReturnedPages) {
    due_pages_ -= static_cast<double>(returned);
    const auto length = static_cast<std::size_t>(returned) * pages.page_bytes;
    (void)madvise(pages.begin, length, MADV_DONTNEED);
  }
}

}  // namespace reprise
