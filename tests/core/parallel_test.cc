#include "core/parallel.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace reprise {
namespace {

TEST(ForEachInParallel, EachTaskRunsOnce) {
  for (const std::size_t count : {0, 1, 2, 1'000}) {
    std::vector<int> calls(count, 0);
    ForEachInParallel(count, [&calls](std::size_t i) { ++calls[i]; });
    EXPECT_EQ(calls, std::vector<int>(count, 1));
  }
}

TEST(ForEachInParallel, WhatATaskThrowsIsSeen) {
  const auto fail_in_the_middle = [](std::size_t i) {
    if (i == 50) {
      throw std::runtime_error("50");
    }
  };
  EXPECT_THROW(ForEachInParallel(100, fail_in_the_middle), std::runtime_error);
}

// Whatever is asked for, one core remains, and no core is added.
TEST(OwnCores, CanBeLimited) {
  const int cores = OwnCores();
  LimitOwnCores(0);
  EXPECT_EQ(OwnCores(), 1);
  LimitOwnCores(1'000'000);
  EXPECT_EQ(OwnCores(), cores);
}

}  // namespace
}  // namespace reprise
