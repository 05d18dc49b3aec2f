// Memory of a process that makes and drops large things again and again.
#pragma once

#include <malloc.h>

#include <climits>

namespace reprise {

// What is freed stays with the process and is used again: given back to the system each time, it
// would come back page by page, zeroed. Before the first thread begins: threads share one heap
// then, as a thread's own has no room for large blocks.
inline void KeepFreedMemory() {
#ifdef __GLIBC__
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD, 64 << 20);
#endif
}

}  // namespace reprise
