// Random trace sets with injected delays: no hang, exact data, the recorded order on every rank.
// More cases: REPRISE_ORDER_CASES=10000; one of them again: REPRISE_ORDER_SEED=<seed>.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "core/clock.h"
#include "kernels/backend.h"
#include "tests/replayer/order_case.h"
#include "tests/replayer/replay_fixture.h"
#include "tests/skip.h"

// MPI's plug-ins leak and are unloaded before the leak sanitizer could name them for a suppression.
extern "C" const char* __asan_default_options();  // NOLINT: the sanitizer's name
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }  // NOLINT

namespace reprise::testing {
namespace {

constexpr std::int64_t kHangNs = 20'000'000'000;
constexpr std::int64_t kSoonNs = 500'000'000;  // where a hang is expected
constexpr int kDeviceEvery = 10;               // cases whose operations run, on the host device

std::uint64_t Number(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// The seeds of a run: one, or the first so many.
std::vector<std::uint64_t> Seeds(std::uint64_t cases) {
  if (const std::uint64_t seed = Number("REPRISE_ORDER_SEED", 0); seed != 0) {
    return {seed};
  }
  std::vector<std::uint64_t> seeds(Number("REPRISE_ORDER_CASES", cases));
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    seeds[i] = i + 1;
  }
  return seeds;
}

std::string Again(std::uint64_t seed) {
  return "again with REPRISE_ORDER_SEED=" + std::to_string(seed);
}

TEST(Order, HoldsForRandomSets) {
  const auto device = OpenDevice({.backend = "host"});
  ASSERT_TRUE(device) << device.error().message;
  const std::int64_t begin_ns = MonotonicNs();
  std::size_t transfers = 0;
  const auto seeds = Seeds(400);
  for (const std::uint64_t seed : seeds) {
    const RandomSet set = DrawSet(seed, 0);
    for (const auto& nodes : set.nodes) {
      for (const Node& node : nodes) {
        transfers += node.comm ? 1 : 0;
      }
    }
    const Status status =
        RunLocalOrderCase(set, seed % kDeviceEvery == 0 ? device->get() : nullptr, kHangNs);
    ASSERT_TRUE(status) << Again(seed) << ": " << status.error().message;
  }
  std::printf("%zu cases, %zu transfers, %.1f s\n", seeds.size(), transfers,
              static_cast<double>(MonotonicNs() - begin_ns) * 1e-9);
}

// By what it leads to: contradicting transfers, wrong data, a hang. Where nothing of that comes of
// it, because the transfers are alike, by the order alone.
TEST(Order, ASwappedOrderIsCaught) {
  int by_order = 0;
  for (const bool alike : {false, true}) {
    int broken = 0;
    for (std::uint64_t seed = 1; broken < 5; ++seed) {
      RandomSet set = DrawSet(seed, 0);
      if (alike) {
        MakeAlike(set);
      }
      if (!Break(set, Breakage::kSwappedOrder)) {
        continue;
      }
      ++broken;
      const Status status = RunLocalOrderCase(set, nullptr, kSoonNs);
      ASSERT_FALSE(status) << "not caught: " << Again(seed);
      by_order += status.error().message.find("recorded order") != std::string::npos ? 1 : 0;
    }
  }
  EXPECT_GT(by_order, 0);
}

TEST(Order, AHangIsCaughtAndNamed) {
  int broken = 0;
  for (std::uint64_t seed = 1; broken < 3; ++seed) {
    RandomSet set = DrawSet(seed, 3);
    if (!Break(set, Breakage::kLostTransfer)) {
      continue;
    }
    ++broken;
    const Status status = RunLocalOrderCase(set, nullptr, kSoonNs);
    ASSERT_FALSE(status) << "not caught: " << Again(seed);
    EXPECT_THAT(status.error().message, ::testing::HasSubstr("no progress on any rank"));
  }
}

// The whole way: files, agreement, matching, recording.
TEST_F(ReplayTest, RandomSetsReplayFromFiles) {
  for (const std::uint64_t seed : Seeds(400)) {
    if (seed % 100 != 0) {
      continue;
    }
    const RandomSet set = DrawSet(seed, 0);
    fs::remove_all(directory_ / "set");
    fs::create_directories(directory_ / "set");
    ASSERT_TRUE(set.Write((directory_ / "set").string()));
    ReplayRequest request = Request();
    request.force = true;
    request.options = set.options;
    request.options.watchdog_ns = kHangNs;
    for (const Error& error : Run(request, set.ranks())) {
      ASSERT_EQ(error.message, "") << Again(seed);
    }
  }
}

// MPI runs once in a process: all cases of this program run in one start of mpirun (CTest's
// replayer_order_mpi).
TEST(MpiOrder, HoldsForRandomSets) {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr) {
    REPRISE_SKIP("mpirun", "started by itself");
  }
  auto created = CreateMpiCommunicator(nullptr, nullptr);
  ASSERT_TRUE(created) << created.error().message;
  Communicator& communicator = **created;
  const std::int64_t begin_ns = MonotonicNs();
  const auto seeds = Seeds(20);
  for (const std::uint64_t seed : seeds) {
    const Status status =
        RunOrderCase(DrawSet(seed, communicator.size()), communicator, nullptr, kHangNs);
    ASSERT_TRUE(status) << Again(seed) << ": " << status.error().message;
  }
  if (communicator.rank() == 0) {
    std::printf("%zu cases on %d ranks, %.1f s\n", seeds.size(), communicator.size(),
                static_cast<double>(MonotonicNs() - begin_ns) * 1e-9);
  }
}

}  // namespace
}  // namespace reprise::testing
