#include "core/median.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

namespace reprise {
namespace {

using ::testing::Optional;

TEST(Median, OddEvenAndEmpty) {
  std::vector<std::int64_t> none;
  EXPECT_FALSE(Median(none));
  std::vector<std::int64_t> odd = {5, 1, 3};
  EXPECT_THAT(Median(odd), Optional(3));
  std::vector<std::int64_t> even = {8, 2, 4, 100};
  EXPECT_THAT(Median(even), Optional(6));
}

}  // namespace
}  // namespace reprise
