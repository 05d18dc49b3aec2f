// core/bytes.h: sizes as people read them.
#include "core/bytes.h"

#include <gtest/gtest.h>

namespace reprise {
namespace {

TEST(SizeText, HasUnitsOfAThousand) {
  EXPECT_EQ(SizeText(0), "0 B");
  EXPECT_EQ(SizeText(999), "999 B");
  EXPECT_EQ(SizeText(1000), "1.00 kB");
  EXPECT_EQ(SizeText(1'100'000), "1.10 MB");
  EXPECT_EQ(SizeText(2'500'000'000'000'000), "2500.00 TB");
}

}  // namespace
}  // namespace reprise
