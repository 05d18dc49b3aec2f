// Temperatures of steps of many periods are those of the same steps stretch by stretch.
#include "predict/simulator/power/extended_temperatures.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace reprise {
namespace {

constexpr double kAir = 25, kBegin = 45;

ThermalModel Thermal(double seconds) {
  ThermalModel thermal;
  thermal.kelvin_per_watt = SourcedNumber{.value = 0.05};
  thermal.joules_per_kelvin = SourcedNumber{.value = seconds / 0.05};
  return thermal;
}

using Part = std::vector<std::pair<std::int64_t, double>>;  // milliseconds, watts

// The parts one after the other, `times` of the second.
std::vector<PowerStretch> Step(const Part& head, const Part& period, int times, const Part& tail) {
  std::vector<PowerStretch> stretches;
  std::int64_t now_ns = 0;
  const auto add = [&](const Part& part) {
    for (const auto& [ms, watts] : part) {
      stretches.push_back({now_ns, now_ns + ms * 1'000'000, watts});
      now_ns = stretches.back().end_ns;
    }
  };
  add(head);
  for (int i = 0; i < times; ++i) {
    add(period);
  }
  add(tail);
  return stretches;
}

const Part kHead = {{30, 100}, {200, 650}};
const Part kPeriod = {{40, 700}, {10, 120}, {25, 480}};
const Part kTail = {{80, 300}, {20, 90}};

TEST(ExtendedTemperatures, AreThoseOfWholeSteps) {
  // Heat settles within a stretch, within some periods, and hardly at all. The second head is
  // hotter than all that follows, so that the device cools.
  for (const double tau : {0.01, 1.0, 1e4}) {
    for (const Part& head : {kHead, Part{{9000, 1500}}}) {
      for (const int times : {0, 1, 2, 7, 3000}) {
        const ThermalModel thermal = Thermal(tau);
        const auto extended =
            ExtendTemperatures(thermal, kAir, kBegin, Step(head, kPeriod, 3, kTail),
                               Step(head, kPeriod, 4, kTail), times);
        const Temperatures whole =
            TemperaturesFrom(thermal, kAir, kBegin, Step(head, kPeriod, 4 + times, kTail));
        ASSERT_TRUE(extended);
        EXPECT_NEAR(extended->mean, whole.mean, 1e-9 * whole.mean) << tau << " " << times;
        EXPECT_NEAR(extended->max, whole.max, 1e-9 * whole.max) << tau << " " << times;
      }
    }
  }
}

TEST(ExtendedTemperatures, NeedAPeriodThatComesTwice) {
  const ThermalModel thermal = Thermal(1);
  const auto extends = [&](const std::vector<PowerStretch>& shorter,
                           const std::vector<PowerStretch>& longer) {
    return ExtendTemperatures(thermal, kAir, kBegin, shorter, longer, 5).has_value();
  };
  const auto three = Step(kHead, kPeriod, 3, kTail);
  EXPECT_TRUE(extends(Step(kHead, kPeriod, 1, kTail), Step(kHead, kPeriod, 2, kTail)));
  // The period is there once.
  EXPECT_FALSE(extends(Step(kHead, kPeriod, 0, kTail), Step(kHead, kPeriod, 1, kTail)));
  EXPECT_FALSE(extends(three, three));
  EXPECT_FALSE(extends(Step(kHead, kPeriod, 4, kTail), three));
  // One stretch is 1 ns longer, or takes more.
  auto longer = Step(kHead, kPeriod, 4, kTail);
  for (auto at = longer.begin() + 5; at != longer.end(); ++at) {
    ++at->begin_ns;
    ++at->end_ns;
  }
  ++(longer.begin() + 4)->end_ns;
  EXPECT_FALSE(extends(three, longer));
  auto hotter = Step(kHead, kPeriod, 4, kTail);
  (hotter.begin() + 6)->watts += 1e-3;
  EXPECT_FALSE(extends(three, hotter));
}

}  // namespace
}  // namespace reprise
