#include "core/ordered_pipeline.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/parallel.h"

namespace reprise {
namespace {

class Squares {
 public:
  Squares(std::size_t slots, int count) : slots_(slots), count_(count) {}

  void Run() {
    RunOrderedPipeline(slots_.size(),
                       {[this](std::size_t slot) {
                          slots_[slot] = next_;
                          return next_++ < count_;
                        },
                        [this](std::size_t slot) { slots_[slot] *= slots_[slot]; },
                        [this](std::size_t slot) { finished.push_back(slots_[slot]); }});
  }

  std::vector<int> finished;

 private:
  std::vector<int> slots_;
  int count_, next_ = 0;
};

TEST(OrderedPipeline, FinishesEachItemInOrder) {
  for (const std::size_t slots : {1, 2, 7}) {
    for (const int count : {0, 1, 5, 2'000}) {
      Squares squares(slots, count);
      squares.Run();
      ASSERT_EQ(squares.finished.size(), static_cast<std::size_t>(count));
      for (int i = 0; i < count; ++i) {
        ASSERT_EQ(squares.finished[static_cast<std::size_t>(i)], i * i);
      }
    }
  }
}

// An item that takes long does not keep others from being worked on, but from being finished.
TEST(OrderedPipeline, WorksInParallelWhereThereIsASpareCore) {
  const bool spare = OwnCores() > 1;
  int next = 0;
  std::promise<void> second_worked_on;
  std::vector<int> finished;
  std::vector<int> slots(4);
  RunOrderedPipeline(4, {[&](std::size_t slot) {
                           slots[slot] = next;
                           return next++ < 4;
                         },
                         [&](std::size_t slot) {
                           if (slots[slot] == 0 && spare) {
                             second_worked_on.get_future().wait();
                           } else if (slots[slot] == 1) {
                             second_worked_on.set_value();
                           }
                         },
                         [&](std::size_t slot) { finished.push_back(slots[slot]); }});
  EXPECT_EQ(finished, (std::vector<int>{0, 1, 2, 3}));
}

TEST(OrderedPipeline, TheCallerWorksAloneWithoutSpareCores) {
  int taken = 0;
  while (TakeSpareCore()) {
    ++taken;
  }
  EXPECT_EQ(taken, OwnCores() - 1);
  std::set<std::thread::id> threads;
  int next = 0;
  const auto note = [&threads](std::size_t /*slot*/) {
    threads.insert(std::this_thread::get_id());
  };
  RunOrderedPipeline(3, {[&next](std::size_t /*slot*/) { return next++ < 50; }, note, note});
  EXPECT_EQ(threads, std::set<std::thread::id>{std::this_thread::get_id()});
  for (; taken > 0; --taken) {
    ReturnCore();
  }
}

TEST(OrderedPipeline, WhatAStageThrowsIsSeen) {
  for (const int stage : {0, 1, 2}) {
    int next = 0;
    std::atomic<int> finished = 0;
    std::vector<int> slots(5);
    const auto fail = [stage](int here, int item) {
      if (here == stage && item == 40) {
        throw std::runtime_error("40");
      }
    };
    EXPECT_THROW(RunOrderedPipeline(5, {[&](std::size_t slot) {
                                          fail(0, next);
                                          slots[slot] = next++;
                                          return true;
                                        },
                                        [&](std::size_t slot) { fail(1, slots[slot]); },
                                        [&](std::size_t slot) {
                                          fail(2, slots[slot]);
                                          ++finished;
                                        }}),
                 std::runtime_error);
    EXPECT_LE(finished, 40);
  }
  // Every core was given back.
  int spare = 0;
  while (TakeSpareCore()) {
    ++spare;
  }
  EXPECT_EQ(spare, OwnCores() - 1);
  for (; spare > 0; --spare) {
    ReturnCore();
  }
}

// Pipelines within parallel tasks: together no more threads than cores, but one for each task.
TEST(OrderedPipeline, NestedPipelinesShareTheCores) {
  std::atomic<int> sum = 0;
  ForEachInParallel(8, [&sum](std::size_t /*task*/) {
    Squares squares(5, 100);
    squares.Run();
    sum += static_cast<int>(squares.finished.size());
  });
  EXPECT_EQ(sum, 800);
}

}  // namespace
}  // namespace reprise
