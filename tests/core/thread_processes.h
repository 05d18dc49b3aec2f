// Processes as threads, for tests.
#pragma once

#include <barrier>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "core/processes.h"

namespace reprise {

// The errors of all go to all.
struct Meeting {
  explicit Meeting(int count) : barrier(count), said(static_cast<std::size_t>(count)) {}
  std::barrier<> barrier;
  std::vector<Result<std::string>> said;
};

class ThreadProcess final : public Processes {
 public:
  ThreadProcess(int index, Meeting& meeting) : index_(index), meeting_(meeting) {}
  [[nodiscard]] int index() const override { return index_; }
  [[nodiscard]] int count() const override { return static_cast<int>(meeting_.said.size()); }
  Result<std::vector<std::string>> Exchange(const Result<std::string>& mine) override {
    meeting_.said[static_cast<std::size_t>(index_)] = mine;
    meeting_.barrier.arrive_and_wait();
    std::vector<std::string> all;
    Status failed;
    for (const Result<std::string>& one : meeting_.said) {
      if (one) {
        all.push_back(*one);
      } else if (failed) {
        failed = tl::unexpected<Error>(one.error());
      }
    }
    meeting_.barrier.arrive_and_wait();
    REPRISE_TRY(failed);
    return all;
  }

 private:
  int index_;
  Meeting& meeting_;
};

template <typename Body>
void OnProcesses(int count, const Body& body) {
  Meeting meeting(count);
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&meeting, &body, i] {
      ThreadProcess process(i, meeting);
      body(process);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace reprise
