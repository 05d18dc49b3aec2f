#include "core/processes.h"

#include <gtest/gtest.h>

#include <barrier>
#include <string>
#include <thread>
#include <vector>

namespace reprise {
namespace {

// Processes as threads: the errors of all go to all.
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

TEST(Processes, SharesAreAllItemsOnceAndInOrder) {
  for (const int count : {1, 2, 3, 7}) {
    Meeting meeting(count);
    for (const std::size_t items : {0, 1, 2, 6, 7, 100}) {
      std::size_t next = 0;
      for (int i = 0; i < count; ++i) {
        const ItemRange own = OwnShare(ThreadProcess(i, meeting), items);
        EXPECT_EQ(own.begin, next);
        EXPECT_LE(own.size(),
                  (items + static_cast<std::size_t>(count) - 1) / static_cast<std::size_t>(count));
        next = own.end;
      }
      EXPECT_EQ(next, items);
    }
  }
}

TEST(Processes, EachCompletesTheOthersShares) {
  OnProcesses(3, [](Processes& processes) {
    std::vector<std::string> items(7);
    const ItemRange own = OwnShare(processes, items.size());
    for (std::size_t i = own.begin; i < own.end; ++i) {
      items[i] = "\x1b item " + std::to_string(i);  // as it is, whatever a terminal makes of it
    }
    ASSERT_TRUE(CompleteShares(processes, {}, items));
    for (std::size_t i = 0; i < items.size(); ++i) {
      EXPECT_EQ(items[i], "\x1b item " + std::to_string(i));
    }
  });
}

TEST(Processes, TheFirstErrorIsThatOfAll) {
  OnProcesses(3, [](Processes& processes) {
    std::vector<int> items(3, 1);
    const Status mine =
        processes.first() ? Status() : BadInput("file " + std::to_string(processes.index()));
    const Status all = CompleteShares(processes, mine, items);
    ASSERT_FALSE(all);
    EXPECT_EQ(all.error().message, "file 1");
    EXPECT_EQ(all.error().kind, ErrorKind::kBadInput);
  });
}

TEST(Processes, OneProcessHasAll) {
  std::vector<int> items{1, 2, 3};
  const ItemRange own = OwnShare(OneProcess(), items.size());
  EXPECT_EQ(own.begin, 0U);
  EXPECT_EQ(own.end, 3U);
  EXPECT_TRUE(CompleteShares(OneProcess(), {}, items));
  EXPECT_FALSE(OneProcess().Agree(BadInput("no")));
  EXPECT_TRUE(OneProcess().Agree({}));
}

}  // namespace
}  // namespace reprise
