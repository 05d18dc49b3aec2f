// Pages of freed results that go back to the system.
#include "kernels/host/fresh_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace reprise {
namespace {

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};

class FreshMemoryTest : public ::testing::Test {
 protected:
  // Pages of results of so many pages that read as new after BeforeFree.
  std::int64_t Returned(std::initializer_list<std::int64_t> results) {
    std::int64_t returned = 0;
    for (const std::int64_t pages : results) {
      const std::int64_t bytes = pages * page_;
      const std::unique_ptr<std::byte, Free> memory(
          static_cast<std::byte*>(std::aligned_alloc(page_, bytes)));
      std::fill_n(memory.get(), bytes, std::byte{1});
      fresh_.BeforeFree(memory.get(), bytes);
      for (std::int64_t k = 0; k < pages; ++k) {
        returned += memory.get()[k * page_] == std::byte{0} ? 1 : 0;
      }
    }
    return returned;
  }

  const std::int64_t page_ = sysconf(_SC_PAGESIZE);
  FreshMemory fresh_;
};

TEST_F(FreshMemoryTest, ReturnsAsManyAsRecordedFromTheSecondIterationOn) {
  for (const std::int64_t expected : {0, 300, 300}) {
    fresh_.BeginIteration(300);
    EXPECT_EQ(Returned({400, 1, 31, 40, 40, 120}), expected);
  }
  fresh_.BeginIteration(0);
  EXPECT_EQ(Returned({400, 1, 31, 40, 40, 120}), 0);
}

TEST_F(FreshMemoryTest, CountsLargeBlocksThatTheAllocatorReturnsByItself) {
  const std::int64_t large = (std::int64_t{33} << 20) / page_;
  for (const std::int64_t expected : {std::int64_t{0}, large / 2}) {
    fresh_.BeginIteration(large + large / 2);
    EXPECT_EQ(Returned({large, large - 2000, 2000}), expected);
  }
}

TEST_F(FreshMemoryTest, ReturnsNoMoreThanThereIs) {
  fresh_.BeginIteration(1000);
  EXPECT_EQ(Returned({40, 80}), 0);
  fresh_.BeginIteration(1000);
  EXPECT_EQ(Returned({40, 80}), 120);
}

TEST_F(FreshMemoryTest, LeavesPagesAloneThatOthersShare) {
  const std::int64_t bytes = 40 * page_;
  const std::unique_ptr<std::byte, Free> memory(
      static_cast<std::byte*>(std::aligned_alloc(page_, bytes)));
  for (int iteration = 0; iteration < 2; ++iteration) {
    std::fill_n(memory.get(), bytes, std::byte{1});
    fresh_.BeginIteration(100);
    fresh_.BeforeFree(memory.get() + 64, bytes - 128);
  }
  EXPECT_EQ(memory.get()[page_ - 1], std::byte{1});
  EXPECT_EQ(memory.get()[page_], std::byte{0});
  EXPECT_EQ(memory.get()[39 * page_ - 1], std::byte{0});
  EXPECT_EQ(memory.get()[39 * page_], std::byte{1});
  fresh_.BeforeFree(memory.get() + 64, 128);  // not a whole page
  EXPECT_EQ(memory.get()[64], std::byte{1});
}

}  // namespace
}  // namespace reprise
