#include "core/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <future>
#include <vector>

namespace reprise {
namespace {

std::atomic<int> most_cores = INT_MAX;
std::atomic<int> cores_taken = 0;  // besides the process' first thread's

}  // namespace

std::vector<int> OwnCoreNumbers() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> numbers;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &set)) {
        numbers.push_back(core);
      }
    }
  }
  return numbers.empty() ? std::vector<int>{0} : numbers;
}

int OwnCores() { return std::min(static_cast<int>(OwnCoreNumbers().size()), most_cores.load()); }

void LimitOwnCores(int most) { most_cores = std::max(most, 1); }

void TakeCore() { ++cores_taken; }

bool TakeSpareCore() {
  static const int own_cores = static_cast<int>(OwnCoreNumbers().size());
  const int helpers = std::min(own_cores, most_cores.load()) - 1;
  int taken = cores_taken.load();
  while (taken < helpers) {
    if (cores_taken.compare_exchange_weak(taken, taken + 1)) {
      return true;
    }
  }
  return false;
}

void ReturnCore() { --cores_taken; }

void ForEachInParallel(std::size_t count, const std::function<void(std::size_t)>& task) {
  const auto cores = static_cast<std::size_t>(OwnCores());
  std::atomic<std::size_t> next = 0;
  const auto work = [&next, &task, count] {
    for (std::size_t i = next++; i < count; i = next++) {
      task(i);
    }
  };
  const auto help = [&work] {
    TakeCore();
    try {
      work();
    } catch (...) {
      ReturnCore();
      throw;
    }
    ReturnCore();
  };
  std::vector<std::future<void>> others;
  for (std::size_t thread = 1; thread < std::min(count, cores); ++thread) {
    // Where the machine has no more threads, this one is put off to get(), when nothing is left.
    others.push_back(std::async(help));
  }
  work();
  for (std::future<void>& other : others) {
    other.get();
  }
}

}  // namespace reprise
