#include "core/processes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/core/thread_processes.h"

namespace reprise {
namespace {

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
