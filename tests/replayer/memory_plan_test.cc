#include "replayer/memory/memory_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replayer/engine/estimate.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

StorageLife Life(std::int64_t incarnation, std::int64_t bytes, std::uint32_t first,
                 std::uint32_t last) {
  StorageLife life;
  life.incarnation = incarnation;
  life.bytes = bytes;
  life.first = first;
  life.last = last;
  return life;
}

TEST(MemoryPlan, ReusesBuffersOfDeadStorages) {
  // 1 dies before 3 is born; 2 overlaps both.
  const MemoryPlan plan =
      PlanMemory({Life(1, 100, 0, 4), Life(2, 100, 2, 9), Life(3, 80, 5, 9)}, false);
  EXPECT_EQ(plan.buffer_of.at(1), plan.buffer_of.at(3));
  EXPECT_NE(plan.buffer_of.at(1), plan.buffer_of.at(2));
  EXPECT_EQ(plan.planned_bytes, 200);
  EXPECT_EQ(plan.original_peak_bytes, 200);
}

TEST(MemoryPlan, SameNodeIsOverlap) {
  // An operation reads 1 for the last time while it writes 2.
  const MemoryPlan plan = PlanMemory({Life(1, 64, 0, 3), Life(2, 64, 3, 5)}, false);
  EXPECT_NE(plan.buffer_of.at(1), plan.buffer_of.at(2));
}

TEST(MemoryPlan, PersistentAndForeignStoragesKeepTheirBuffers) {
  StorageLife parameter = Life(1, 64, 0, 1);
  parameter.persistent = true;
  StorageLife shared = Life(2, 64, 0, 1);
  shared.single_actor = false;
  const MemoryPlan own = PlanMemory({parameter, shared, Life(3, 64, 5, 6)}, false);
  EXPECT_EQ(own.buffer_bytes.size(), 3U);
  const MemoryPlan aliased = PlanMemory({parameter, shared, Life(3, 64, 5, 6)}, true);
  EXPECT_EQ(aliased.buffer_of.at(2), aliased.buffer_of.at(3));
  EXPECT_NE(aliased.buffer_of.at(1), aliased.buffer_of.at(3));
}

TEST(MemoryPlan, SmallStoragesDoNotTakeHugeBuffers) {
  const MemoryPlan plan =
      PlanMemory({Life(1, 1 << 20, 0, 1), Life(2, 64, 3, 9), Life(3, 1 << 20, 4, 9)}, false);
  EXPECT_EQ(plan.buffer_of.at(1), plan.buffer_of.at(3));
  EXPECT_EQ(plan.planned_bytes, (1 << 20) + 64);
}

TEST(MemoryPlan, OtherActorsStoragesAreReusedWhereDependenciesPromiseIt) {
  StorageLife sent = Life(1, 64, 0, 2);  // written by actor 0, read by a transfer it waits for
  sent.single_actor = false;
  sent.until = {{0, 3}};
  StorageLife later = Life(2, 64, 5, 6);
  later.actor = 1;
  later.after = {3, 0};
  EXPECT_EQ(PlanMemory({sent, later}, false).planned_bytes, 64);
  later.after = {2, 0};  // recorded later, but nothing makes it so
  EXPECT_EQ(PlanMemory({sent, later}, false).planned_bytes, 128);
  EXPECT_EQ(PlanMemory({sent, later}, true).planned_bytes, 64);
}

TEST(MemoryPlan, BeyondTheDevicesMemoryIsSaidWithTheWaysOut) {
  Estimate estimate;
  estimate.memory_bytes = 5'000'000'000;
  DeviceInfo device;
  device.name = "card";
  device.memory_bytes = 8'000'000'000;
  ReplayOptions options;
  EXPECT_TRUE(CheckEstimate(estimate, device, 1, options));
  const Status refused = CheckEstimate(estimate, device, 2, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kEnvironment);
  EXPECT_THAT(refused.error().message, HasSubstr("5000000000 bytes"));
  EXPECT_THAT(refused.error().message, HasSubstr("4000000000 bytes"));
  EXPECT_THAT(refused.error().message, HasSubstr("--memory share"));
  options.share_memory = true;  // is no way out any more
  EXPECT_THAT(CheckEstimate(estimate, device, 2, options).error().message,
              Not(HasSubstr("--memory share")));
}

}  // namespace
}  // namespace reprise
