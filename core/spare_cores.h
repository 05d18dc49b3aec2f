// How many cores this process still has for threads that compute. Parallel work within parallel
// work (every file of a set, every part of a file) would otherwise start a thread per core each.
#pragma once

namespace reprise {

// A thread that computes has begun beside the caller's: takes a core, whether or not one is spare.
void TakeCore();
// The same where a core is spare (of OwnCores, the caller's own left out); else false.
[[nodiscard]] bool TakeSpareCore();
// Each core that was taken, once. Any thread.
void ReturnCore();

}  // namespace reprise
