// Work on many things of which few fit in memory: begun on several threads, ended in order. Only
// report/ sees this.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "core/parallel.h"
#include "core/result.h"

namespace reprise {

// Whose turn it is. Tasks begin in the order of their numbers, so the one whose turn it is is never
// waited for in vain.
class Turns {
 public:
  // Or a later one's.
  void WaitFor(std::size_t task) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return turn_ >= task; });
  }
  void End(std::size_t task) {
    WaitFor(task);
    {
      const std::lock_guard lock(mutex_);
      ++turn_;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t turn_ = 0;
};

// begin(i), a Result, of 0 … count − 1, at most `most` of them at a time and no more than there are
// cores; end(value) of each in order, one at a time. After the first failure, which is returned,
// nothing more is begun.
template <typename Begin, typename End>
[[nodiscard]] Status ForEachInOrder(std::size_t count, std::size_t most, const Begin& begin,
                                    const End& end) {
  Turns turns;
  Status outcome;
  std::atomic<bool> failed = false;
  ForEachInParallel(count, [&](std::size_t i) {
    // Also where something is thrown.
    struct EndOfTurn {
      ~EndOfTurn() { turns.End(i); }
      Turns& turns;
      std::size_t i;
    } const end_of_turn{turns, i};
    turns.WaitFor(i < most ? 0 : i - most + 1);
    if (failed) {
      return;
    }
    auto begun = begin(i);
    turns.WaitFor(i);
    if (failed) {
      return;
    }
    if (!begun) {
      failed = true;
      outcome = tl::unexpected(begun.error());
      return;
    }
    end(*begun);
  });
  return outcome;
}

}  // namespace reprise
