#include "core/timing/clock_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace reprise {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kBase = 1'790'857'026 * kSecond;  // a Unix time: beyond a double's 53 bits

// Exchanges between ranks 0 and 1..n−1 whose clocks read t − offset − drift·(t − kBase) at true
// time t (rank 0's), every 10 ms, taking between `least` and 4 × `least`.
std::vector<ClockConstraint> Exchanges(const std::vector<double>& offset_ns,
                                       const std::vector<double>& drift, std::int64_t least_ns) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> latency(1, 4);
  std::vector<ClockConstraint> constraints;
  const auto reads = [&](std::size_t rank, std::int64_t t) {
    // Inverse of the model to first order, exact enough at 1e-4.
    const double since = static_cast<double>(t - kBase);
    return t - std::llround((offset_ns[rank] + drift[rank] * since) / (1 + drift[rank]));
  };
  for (std::int64_t t = kBase; t < kBase + 10 * kSecond; t += 10'000'000) {
    for (std::size_t a = 0; a < offset_ns.size(); ++a) {
      const std::size_t b = (a + 1) % offset_ns.size();
      for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
        const auto end = t + std::llround(latency(random) * static_cast<double>(least_ns));
        constraints.push_back({static_cast<std::int32_t>(to), reads(to, end),
                               static_cast<std::int32_t>(from), reads(from, t)});
      }
    }
  }
  return constraints;
}

TEST(FitClocks, ZeroWhereZeroFits) {
  const auto fit = FitClocks(3, Exchanges({0, 0, 0}, {0, 0, 0}, 20'000));
  ASSERT_TRUE(fit);
  EXPECT_TRUE(fit->zero_offsets);
  EXPECT_EQ(fit->violated, 0U);
  EXPECT_EQ(fit->clocks[0].uncertainty_ns, 0);
  EXPECT_GT(fit->clocks[1].uncertainty_ns, 10'000);  // a clock of its own could be off by this
  EXPECT_LT(fit->clocks[1].uncertainty_ns, 40'000);
  EXPECT_EQ(fit->ToRank0(1, kBase + 5), kBase + 5);
}

TEST(FitClocks, OneHostHasOneClock) {
  ClockFitOptions options;
  options.host_of_rank = {4, 4, 4};
  const auto fit = FitClocks(3, Exchanges({0, 0, 0}, {0, 0, 0}, 20'000), options);
  ASSERT_TRUE(fit);
  EXPECT_TRUE(fit->zero_offsets);
  EXPECT_EQ(fit->clocks[1].uncertainty_ns, 0);
  EXPECT_TRUE(fit->clocks[1].known);
  // What contradicts it is reported as uncertainty, never turned into an offset.
  const auto off = FitClocks(3, Exchanges({0, 300'000, 0}, {0, 0, 0}, 20'000), options);
  ASSERT_TRUE(off);
  EXPECT_TRUE(off->zero_offsets);
  EXPECT_NEAR(static_cast<double>(off->clocks[1].uncertainty_ns), 280'000, 10'000);
  EXPECT_GT(off->violated, 0U);
}

TEST(FitClocks, NoiseIsUncertaintyNotAnOffset) {
  const std::vector<ClockConstraint> constraints = {{1, kBase + 100, 0, kBase + 20'100},
                                                    {0, kBase + 500'000, 1, kBase}};
  ClockFitOptions options;
  options.host_of_rank = {0, 0};
  const auto fit = FitClocks(2, constraints, options);
  ASSERT_TRUE(fit);
  EXPECT_TRUE(fit->zero_offsets);
  EXPECT_EQ(fit->worst_violation_ns, 20'000);
  EXPECT_EQ(fit->clocks[1].uncertainty_ns, 20'000);
}

TEST(FitClocks, ConstantOffsetsAreFoundWithinTheirUncertainty) {
  const std::vector<double> offsets = {0, 5'000'000, -3'000'000, 42'000};
  const auto fit = FitClocks(4, Exchanges(offsets, {0, 0, 0, 0}, 30'000));
  ASSERT_TRUE(fit);
  EXPECT_FALSE(fit->zero_offsets);
  EXPECT_EQ(fit->violated, 0U);
  for (int r = 0; r < 4; ++r) {
    EXPECT_EQ(fit->clocks[r].drift, 0);
    EXPECT_TRUE(fit->clocks[r].known);
    EXPECT_NEAR(static_cast<double>(fit->clocks[r].offset_ns), offsets[r],
                static_cast<double>(fit->clocks[r].uncertainty_ns) + 1);
    EXPECT_LT(fit->clocks[r].uncertainty_ns, 100'000);
  }
}

TEST(FitClocks, DriftIsUsedWhereNoConstantOffsetFits) {
  // 50 ppm over 10 s: 500 us, far beyond what exchanges of 20 us leave open.
  const std::vector<double> drifts = {0, 50e-6, -30e-6};
  const auto fit = FitClocks(3, Exchanges({0, 1'000'000, 0}, drifts, 20'000));
  ASSERT_TRUE(fit);
  EXPECT_LE(fit->worst_violation_ns, ClockFitOptions{}.noise_ns);
  for (int r = 1; r < 3; ++r) {
    EXPECT_NEAR(fit->clocks[r].drift, drifts[r], 6e-6);
    for (const std::int64_t at : {kBase, kBase + 5 * kSecond, kBase + 10 * kSecond}) {
      const double truth = (r == 1 ? 1'000'000 : 0) + drifts[r] * static_cast<double>(at - kBase);
      EXPECT_NEAR(static_cast<double>(fit->OffsetAt(r, at)), truth, 60'000) << r;
    }
  }
}

TEST(FitClocks, ContradictionLeavesTheLeastWorstViolation) {
  // Round trip of −100 us: no clock explains it; the best offset splits it.
  const std::vector<ClockConstraint> constraints = {{1, kBase, 0, kBase + 900'000},
                                                    {0, kBase, 1, kBase - 800'000},
                                                    {1, kBase, 0, kBase + 850'000}};
  const auto fit = FitClocks(2, constraints);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(static_cast<double>(fit->worst_violation_ns), 50'000, 5);
  EXPECT_NEAR(static_cast<double>(fit->clocks[1].offset_ns), 850'000, 5);
  EXPECT_GE(fit->clocks[1].uncertainty_ns, 49'990);
}

TEST(FitClocks, RanksTiedFromOneSideOnlyAreUnknown) {
  const auto fit = FitClocks(3, std::vector<ClockConstraint>{{1, kBase + 10, 0, kBase}});
  ASSERT_TRUE(fit);
  EXPECT_TRUE(fit->clocks[0].known);
  EXPECT_FALSE(fit->clocks[1].known);
  EXPECT_FALSE(fit->clocks[2].known);
  EXPECT_TRUE(fit->zero_offsets);
}

TEST(FitClocks, EndsWhereOneClockIsOffByDecades) {
  // Rank 1's clock starts at the epoch: beyond 2^53 ns halves of doubles stop to differ.
  std::vector<ClockConstraint> constraints;
  for (const auto& [a, b] : {std::pair{0, 1}, std::pair{1, 0}}) {
    for (std::int64_t i = 0; i < 10; ++i) {
      const auto at = [&](int rank) { return (rank == 0 ? kBase : 0) + i * 1'000'000; };
      constraints.push_back({a, at(a) + 20'001, b, at(b)});
      // A contradiction of 7 ns, so that no offset fits.
      constraints.push_back({a, at(a) - 7, b, at(b)});
    }
  }
  const auto fit = FitClocks(2, constraints);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(static_cast<double>(fit->clocks[1].offset_ns - kBase), 0, 1000);
  EXPECT_LE(fit->worst_violation_ns, 8);
}

TEST(FitClocks, EndsOverTheFullRangeOfTimes) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  std::mt19937_64 random(30);
  std::uniform_int_distribution<std::int64_t> any(kMin, kMax);
  std::uniform_int_distribution<std::int32_t> rank(0, 3);
  for (int round = 0; round < 200; ++round) {
    std::vector<ClockConstraint> constraints = {{0, kMin, 1, kMax}, {1, kMax, 0, kMin}};
    for (int i = 0; i < 12; ++i) {
      constraints.push_back({rank(random), any(random), rank(random), any(random)});
    }
    const auto fit = FitClocks(4, constraints);
    ASSERT_TRUE(fit);
    for (std::int32_t r = 0; r < 4; ++r) {
      for (const std::int64_t time : {kMin, std::int64_t{0}, kMax}) {
        (void)fit->ToRank0(r, time);  // saturates
        (void)fit->OffsetAt(r, time);
      }
      EXPECT_GE(fit->clocks[r].uncertainty_ns, 0);
    }
  }
}

TEST(FitClocks, BadRanksAndHostsAreRefused) {
  EXPECT_FALSE(FitClocks(2, std::vector<ClockConstraint>{{2, 0, 0, 0}}));
  ClockFitOptions options;
  options.host_of_rank = {0};
  EXPECT_FALSE(FitClocks(2, {}, options));
  const auto none = FitClocks(0, {});
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->clocks.empty());
}

// The real case that looked like a clock problem (docs/clocks.md): four sends of a pipeline between
// two processes of one host, in microseconds. Measured from the leaf, no offset fits; measured from
// the issuing call, offset 0 does.
TEST(FitClocks, LateLeavesOfAPipelineAreNoClockError) {
  struct Send {
    double call_us, leaf_us, recv_end_us;
  };
  const std::vector<Send> down = {{13276.666, 16118.064, 13521.806},
                                  {25314.991, 30345.004, 25557.697},
                                  {37280.348, 42029.911, 37609.703}};
  const Send up = {114030.367, 114390.831, 114905.334};
  const auto fit_from = [&](double Send::*start) {
    std::vector<ClockConstraint> constraints;
    const auto ns = [](double us) { return kBase + std::llround(us * 1000); };
    for (const Send& send : down) {
      constraints.push_back({1, ns(send.recv_end_us), 0, ns(send.*start)});
    }
    constraints.push_back({0, ns(up.recv_end_us), 1, ns(up.*start)});
    return FitClocks(2, constraints).value();
  };
  const ClockFit leaf = fit_from(&Send::leaf_us);
  EXPECT_GT(leaf.worst_violation_ns, 1'500'000);
  EXPECT_EQ(leaf.violated > 0, true);
  const ClockFit call = fit_from(&Send::call_us);
  EXPECT_TRUE(call.zero_offsets);
  EXPECT_EQ(call.violated, 0U);
}

}  // namespace
}  // namespace reprise
