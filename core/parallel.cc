#include "core/parallel.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>
#include <vector>

namespace reprise {

void ForEachInParallel(std::size_t count, const std::function<void(std::size_t)>& task) {
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  std::atomic<std::size_t> next = 0;
  const auto work = [&next, &task, count] {
    for (std::size_t i = next++; i < count; i = next++) {
      task(i);
    }
  };
  std::vector<std::future<void>> others;
  for (std::size_t thread = 1; thread < std::min(count, cores); ++thread) {
    // Where the machine has no more threads, this one is put off to get(), when nothing is left.
    others.push_back(std::async(work));
  }
  work();
  for (std::future<void>& other : others) {
    other.get();
  }
}

}  // namespace reprise
