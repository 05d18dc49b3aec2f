#include "replayer/engine/scheduler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <random>
#include <thread>

namespace reprise {
namespace {

DependencyGraph FromLists(const std::vector<std::vector<std::uint32_t>>& lists) {
  std::vector<std::uint32_t> offset{0};
  std::vector<std::uint32_t> deps;
  for (const auto& list : lists) {
    deps.insert(deps.end(), list.begin(), list.end());
    offset.push_back(static_cast<std::uint32_t>(deps.size()));
  }
  return DependencyGraph::FromDependencies(offset, deps);
}

// Every node after all its dependencies, each exactly once, for arenas of 1 to 4 workers.
TEST(Scheduler, RespectsRandomGraphs) {
  std::mt19937 random(7);
  for (int workers = 1; workers <= 4; ++workers) {
    std::vector<std::vector<std::uint32_t>> lists(3000);
    for (std::uint32_t i = 1; i < lists.size(); ++i) {
      for (std::uint32_t k = random() % 4; k > 0; --k) {
        lists[i].push_back(random() % i);
      }
    }
    const DependencyGraph graph = FromLists(lists);
    Scheduler scheduler(graph, workers);
    for (int repeat = 0; repeat < 2; ++repeat) {
      std::vector<std::atomic<int>> runs(lists.size());
      std::atomic<int> violations = 0;
      ASSERT_TRUE(scheduler.Run([&](std::uint32_t i) {
        for (const std::uint32_t dep : lists[i]) {
          violations += runs[dep].load() == 1 ? 0 : 1;
        }
        runs[i].fetch_add(1);
        return NodeState::kDone;
      }));
      EXPECT_EQ(violations.load(), 0);
      for (auto& count : runs) {
        ASSERT_EQ(count.load(), 1);
      }
    }
  }
}

TEST(Scheduler, EmptyGraphEnds) {
  const DependencyGraph graph = FromLists({});
  Scheduler scheduler(graph, 1);
  EXPECT_TRUE(scheduler.Run([](std::uint32_t) { return NodeState::kDone; }));
}

// A pending node holds its successors until another thread completes it.
TEST(Scheduler, PendingNodesCompleteFromOutside) {
  const DependencyGraph graph = FromLists({{}, {0}, {1}, {}});
  Scheduler scheduler(graph, 1);
  std::mutex mutex;
  std::vector<std::uint32_t> order;
  std::thread other;
  ASSERT_TRUE(scheduler.Run([&](std::uint32_t i) {
    const std::lock_guard lock(mutex);
    order.push_back(i);
    if (i == 1) {
      other = std::thread([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        {
          const std::lock_guard inner(mutex);
          order.push_back(100);
        }
        scheduler.Complete(1);
      });
      return NodeState::kPending;
    }
    return NodeState::kDone;
  }));
  other.join();
  const auto position = [&](std::uint32_t value) {
    return std::find(order.begin(), order.end(), value) - order.begin();
  };
  EXPECT_LT(position(100), position(2));
  EXPECT_EQ(order.size(), 5U);
}

TEST(Scheduler, StopReturnsWithWorkLeft) {
  const DependencyGraph graph = FromLists({{}, {0}, {1}});
  Scheduler scheduler(graph, 1);
  int ran = 0;
  EXPECT_FALSE(scheduler.Run([&](std::uint32_t i) {
    ++ran;
    if (i == 1) {
      scheduler.Stop();
    }
    return NodeState::kDone;
  }));
  EXPECT_EQ(ran, 2);
  EXPECT_EQ(scheduler.remaining(), 1U);
}

}  // namespace
}  // namespace reprise
