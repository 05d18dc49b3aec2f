// Work that falls into independent tasks, on the cores that this process may use.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace reprise {

// Cores that this process may run on, by the system's numbers: launchers and users bind ranks to
// some. Never empty.
[[nodiscard]] std::vector<int> OwnCoreNumbers();
[[nodiscard]] int OwnCores();
// From now on OwnCores is at most so many: ranks that share a host share its cores.
void LimitOwnCores(int most);

// Calls task(0) … task(count − 1), each once, on at most as many threads as there are cores, the
// caller's among them; they are begun in this order. Returns when all have ended. What a task
// throws is rethrown here; tasks that had not begun by then may be left out.
void ForEachInParallel(std::size_t count, const std::function<void(std::size_t)>& task);

// How many cores this process still has for threads that compute. Parallel work within parallel
// work (every file of a set, every part of a file) would otherwise start a thread per core each.
// A thread that computes has begun beside the caller's: takes a core, whether or not one is spare.
void TakeCore();
// The same where a core is spare (of OwnCores, the caller's own left out); else false.
[[nodiscard]] bool TakeSpareCore();
// Each core that was taken, once. Any thread.
void ReturnCore();

}  // namespace reprise
