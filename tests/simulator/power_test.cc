// Power, clocks and temperatures: energy adds up, limits hold, and heat balances.
#include "predict/simulator/power/power.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/sampled_energy.h"
#include "predict/machine/catalogue.h"
#include "predict/simulator/power/power_samples.h"

namespace reprise {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;

constexpr std::int64_t kMillisecond = 1'000'000;

// With an idle power that the watts below were chosen for. The limit holds for means over the
// window; 0: at every moment.
MachineModel Powered(std::int64_t window_ns = 0) {
  MachineModel machine = *LoadMachine("h100-hgx");
  machine.device.power.idle_watts->value = 70;
  machine.device.power.limit_window_ns->value = static_cast<double>(window_ns);
  return machine;
}

// A device with a stream of operations, and one of transfers that overlap them; both chains start
// at 0.
class Job {
 public:
  explicit Job(MachineModel machine) : machine_(std::move(machine)) {
    timing_.dep_offset.push_back(0);
  }

  void Compute(std::int64_t ns, double core_watts, double other_watts, double core_share) {
    const double seconds = static_cast<double>(ns) * 1e-9;
    Add(ns, false, {core_watts * seconds, other_watts * seconds, core_share}, compute_);
  }
  void Transfer(std::int64_t ns, double watts) {
    Add(ns, true, {0, watts * static_cast<double>(ns) * 1e-9, 0}, transfers_);
  }
  void NextDevice(std::int64_t rank, std::int32_t in_front) {
    devices_.push_back({.first_rank = rank, .in_front = in_front});
    compute_ = transfers_ = -1;
  }

  Result<PowerOutcome> Run(PowerOptions options, bool follows_limit = true) {
    schedule_ = *DryRun(timing_);
    const PowerInput input{.machine = machine_,
                           .options = options,
                           .follows_limit = follows_limit,
                           .own_ns = [this](std::uint32_t i) { return timing_.duration_ns[i]; }};
    return SettlePower(input, devices_, timing_, schedule_);
  }

  MachineModel machine_;
  TimingGraph timing_;
  Schedule schedule_;
  std::vector<PoweredDevice> devices_ = {{}};

 private:
  void Add(std::int64_t ns, bool transfer, NodeEnergy energy, std::int64_t& last) {
    const auto node = static_cast<std::uint32_t>(timing_.duration_ns.size());
    timing_.duration_ns.push_back(ns);
    timing_.delay_ns.push_back(0);
    if (last >= 0) {
      timing_.deps.push_back(static_cast<std::uint32_t>(last));
      timing_.reasons.push_back(0);
    }
    timing_.dep_offset.push_back(static_cast<std::uint32_t>(timing_.deps.size()));
    last = node;
    devices_.back().nodes.push_back({.node = node,
                                     .op_class = transfer ? OpClass::kComm : OpClass::kGemm,
                                     .transfer = transfer,
                                     .energy = energy});
  }

  std::int64_t compute_ = -1, transfers_ = -1;
};

Job RandomJob(unsigned seed, std::int64_t window_ns = 0) {
  Job job(Powered(window_ns));
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> part(0, 1);
  for (int device = 0; device < 3; ++device) {
    if (device > 0) {
      job.NextDevice(device, -1);
    }
    for (int i = 0; i < 60; ++i) {
      const double core_share = i % 3 == 0 ? part(random) : 1;
      job.Compute(1 + static_cast<std::int64_t>(part(random) * 1e6),
                  core_share * 800 * part(random), 100 * part(random), core_share);
      if (i % 2 == 0) {
        job.Transfer(static_cast<std::int64_t>(1 + part(random) * 2e6), 80 * part(random));
      }
    }
  }
  return job;
}

double PeakOf(const PowerOutcome& outcome) {
  double peak = 0;
  for (const DevicePower& device : outcome.devices) {
    peak = std::max(peak, device.peak_watts);
  }
  return peak;
}

TEST(Power, EnergyIsTheSamplesIntegral) {
  Job job = RandomJob(1);
  const auto outcome = job.Run({});
  ASSERT_TRUE(outcome) << outcome.error().message;
  for (const DevicePower& device : outcome->devices) {
    double by_power = 0;
    for (std::size_t i = 0; i + 1 < device.samples.size(); ++i) {
      by_power += device.samples[i].watts * 1e-9 *
                  static_cast<double>(device.samples[i + 1].time_ns - device.samples[i].time_ns);
    }
    EXPECT_NEAR(by_power, device.joules, device.joules * 1e-12);
    const ModelledTelemetry telemetry = TelemetryOf(device, *outcome, job.machine_.device, "gpu-0");
    std::vector<Sample> energy;
    for (const Sample& sample : telemetry.samples) {
      if (sample.metric == telemetry.metrics.front().id) {
        energy.push_back(sample);
      }
    }
    EXPECT_NEAR(IntegrateEnergyJoules(MetricKind::kEnergy, energy, outcome->window.begin_ns,
                                      outcome->window.end_ns),
                device.joules, device.joules * 1e-12);
    EXPECT_NEAR(IntegrateEnergyJoules(MetricKind::kEnergy, energy, telemetry.idle_begin_ns,
                                      telemetry.idle_end_ns) *
                    1e3,
                job.machine_.device.power.idle_watts->value, 1e-9);
    double classes = device.idle_joules;
    for (const double joules : device.node_joules) {
      classes += joules;
    }
    EXPECT_NEAR(classes, device.joules, device.joules * 1e-12);
  }
}

TEST(Power, EnergyIsWhatNodesTakeAndIdlePower) {
  Job job(Powered());
  job.Compute(1'000'000, 300, 50, 1);
  job.Transfer(3'000'000, 20);
  const auto outcome = job.Run({});
  const double idle = job.machine_.device.power.idle_watts->value;
  EXPECT_NEAR(outcome->devices[0].joules, 1e-3 * 350 + 3e-3 * 20 + 3e-3 * idle, 1e-12);
  EXPECT_NEAR(outcome->devices[0].peak_watts, 370 + idle, 1e-9);
  EXPECT_EQ(outcome->devices[0].peak_nodes.size(), 2U);
  EXPECT_EQ(outcome->devices[0].throttled_ns, 0);
}

TEST(Power, ManyChangesKeepTheirEnergy) {
  Job job(Powered());
  for (int i = 0; i < 6000; ++i) {
    job.Compute(1000 + i % 7, 100 + i % 11, 0, 1);
  }
  const auto outcome = job.Run({});
  const DevicePower& device = outcome->devices[0];
  ASSERT_EQ(device.samples.size(), kMaxPowerSamples + 1);
  EXPECT_NEAR(device.samples.back().joules, device.joules, device.joules * 1e-12);
}

TEST(Limit, ALowerOneNeverRaisesPowerNorShortensTheStep) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const std::int64_t window_ns = seed % 2 == 0 ? 0 : 3 * kMillisecond;
    double peak = 1e9, mean = 1e9;
    std::int64_t step_ns = 0;
    for (const double limit : {700.0, 620.0, 550.0, 480.0, 400.0}) {
      Job job = RandomJob(seed, window_ns);
      const auto outcome = job.Run({.limit_watts = limit});
      ASSERT_TRUE(outcome) << outcome.error().message;
      EXPECT_TRUE(outcome->settled);
      EXPECT_GE(job.schedule_.makespan_ns, step_ns) << "seed " << seed << ", " << limit << " W";
      EXPECT_LE(PeakOf(*outcome), peak * (1 + 1e-9)) << "seed " << seed << ", " << limit << " W";
      EXPECT_LE(PeakOf(*outcome), limit * (1 + 1e-8));
      EXPECT_LE(outcome->devices[0].mean_watts, mean * (1 + 1e-9));
      mean = outcome->devices[0].mean_watts;
      peak = PeakOf(*outcome);
      step_ns = job.schedule_.makespan_ns;
    }
  }
}

// Of the samples, without what finds the windows: a window's mean is highest where it begins or
// ends with a sample.
double HighestMean(const std::vector<PowerSample>& samples, std::int64_t window_ns) {
  const auto joules_until = [&samples](std::int64_t time_ns) {
    const auto after = std::ranges::upper_bound(samples, time_ns, {}, &PowerSample::time_ns);
    const PowerSample& sample = *std::prev(after);
    return sample.joules + sample.watts * 1e-9 * static_cast<double>(time_ns - sample.time_ns);
  };
  double highest = 0;
  for (const PowerSample& sample : samples) {
    for (const std::int64_t from_ns : {sample.time_ns, sample.time_ns - window_ns}) {
      if (from_ns >= samples.front().time_ns && from_ns + window_ns <= samples.back().time_ns) {
        const double joules = joules_until(from_ns + window_ns) - joules_until(from_ns);
        highest = std::max(highest, joules / (static_cast<double>(window_ns) * 1e-9));
      }
    }
  }
  return highest;
}

TEST(LimitWindow, HoldsWhereverItBegins) {
  bool above = false;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    for (const std::int64_t window_ns : {kMillisecond / 3, 2 * kMillisecond, 9 * kMillisecond}) {
      Job job = RandomJob(seed, window_ns);
      const auto outcome = job.Run({.limit_watts = 450});
      ASSERT_TRUE(outcome) << outcome.error().message;
      ASSERT_TRUE(outcome->settled && !outcome->limit_unmet);
      for (const DevicePower& device : outcome->devices) {
        const double highest = HighestMean(device.samples, window_ns);
        EXPECT_LE(highest, 450 * (1 + 1e-8)) << seed;
        EXPECT_NEAR(device.peak_watts, highest, 1e-6) << seed;
        EXPECT_EQ(device.peak.end_ns - device.peak.begin_ns, window_ns);
        above = above || std::ranges::any_of(device.samples, [](const PowerSample& sample) {
                  return sample.watts > 500;
                });
      }
    }
  }
  EXPECT_TRUE(above);  // at moments
}

// 900 W and 300 W of 700 W, a millisecond each: 600 W in the mean.
Job HotAndCold(std::int64_t window_ns, int hot_first = 0) {
  Job job(Powered(window_ns));
  for (int i = 0; i < 100; ++i) {
    const bool hot = hot_first > 0 ? i < hot_first : i % 2 == 0;
    job.Compute(kMillisecond, hot ? 830 : 230, 0, 1);
  }
  return job;
}

TEST(LimitWindow, LeavesHotKernelsAmongColdOnesAlone) {
  Job job = HotAndCold(25 * kMillisecond);
  const auto outcome = job.Run({});
  EXPECT_EQ(job.schedule_.makespan_ns, 100 * kMillisecond);
  EXPECT_EQ(outcome->devices[0].throttled_ns, 0);
  // A window that begins and ends with hot ones.
  EXPECT_NEAR(outcome->devices[0].peak_watts, (13 * 900 + 12 * 300) / 25.0, 1e-6);
  Job moments = HotAndCold(0);
  EXPECT_GT(moments.Run({})->devices[0].throttled_ns, 0);
  EXPECT_GT(moments.schedule_.makespan_ns, 100 * kMillisecond);
}

TEST(LimitWindow, SlowsALongHotPhase) {
  Job job = HotAndCold(25 * kMillisecond, 50);
  const auto outcome = job.Run({});
  const DevicePower& device = outcome->devices[0];
  EXPECT_LE(device.peak_watts, 700 * (1 + 1e-8));
  EXPECT_GT(device.peak_watts, 680);  // within a step of the clock
  // As at every moment: the phase is longer than the window.
  Job moments = HotAndCold(0, 50);
  const auto by_moment = moments.Run({});
  EXPECT_NEAR(static_cast<double>(job.schedule_.makespan_ns),
              static_cast<double>(moments.schedule_.makespan_ns), 0.02 * 50 * kMillisecond);
  EXPECT_NEAR(device.joules / by_moment->devices[0].joules, 1, 0.01);
  // The cold phase keeps its clock.
  EXPECT_LT(device.throttled_ns, 80 * kMillisecond);
}

// One mean of a step that is shorter.
TEST(LimitWindow, OfAShortStepIsTheStep) {
  Job job(Powered(25 * kMillisecond));
  job.Compute(kMillisecond, 830, 0, 1);
  job.Compute(kMillisecond, 230, 0, 1);
  const auto outcome = job.Run({});
  EXPECT_NEAR(outcome->devices[0].peak_watts, 600, 1e-9);
  EXPECT_EQ(job.schedule_.makespan_ns, 2 * kMillisecond);
  EXPECT_EQ(outcome->devices[0].peak_nodes, std::vector<std::uint32_t>{0});
}

// Measured times keep, and so does what is above the limit for less than the window.
TEST(LimitWindow, OfMeasuredTimesCutsMeans) {
  Job short_peaks = HotAndCold(25 * kMillisecond);
  const auto kept = short_peaks.Run({}, false);
  EXPECT_NEAR(kept->devices[0].joules, 0.1 * 600, 1e-9);
  Job phase = HotAndCold(25 * kMillisecond, 50);
  const auto cut = phase.Run({}, false);
  EXPECT_EQ(phase.schedule_.makespan_ns, 100 * kMillisecond);
  EXPECT_LE(HighestMean(cut->devices[0].samples, 25 * kMillisecond), 700 * (1 + 1e-8));
  EXPECT_NEAR(cut->devices[0].joules, 0.05 * 700 + 0.05 * 300, 1.5);
  double nodes = cut->devices[0].idle_joules;
  for (const double joules : cut->devices[0].node_joules) {
    nodes += joules;
  }
  EXPECT_NEAR(nodes, cut->devices[0].joules, 1e-9);
}

TEST(Limit, AboveTheNeedChangesNothing) {
  const auto quiet = [] {
    Job job(Powered());
    job.Compute(1'000'000, 300, 50, 1);
    job.Transfer(500'000, 30);
    return job;
  };
  Job free = quiet();
  Job limited = quiet();
  const auto a = free.Run({});
  const auto b = limited.Run({.limit_watts = 460});
  EXPECT_EQ(a->rounds, 1);
  EXPECT_EQ(b->rounds, 1);
  EXPECT_EQ(free.timing_.duration_ns, limited.timing_.duration_ns);
  EXPECT_EQ(a->devices[0].joules, b->devices[0].joules);
}

// By hand: a product with 600 W in the core above 70 W of idle power, to 400 W. Twice the clock
// step: f v(f)^2 x 600 <= 330.
TEST(Limit, FollowsTheCurve) {
  Job job(Powered());
  job.Compute(1'000'000'000, 600, 0, 1);
  const auto outcome = job.Run({.limit_watts = 400});
  const ClockCurve curve(job.machine_.device.power);
  std::int32_t step = 0;
  while (curve.Clock(step) * curve.Energy(step) * 600 > 330) {
    ++step;
  }
  ASSERT_GT(step, 0);
  ASSERT_LT(step, curve.lowest());
  EXPECT_NEAR(static_cast<double>(job.schedule_.makespan_ns), 1e9 / curve.Clock(step), 2);
  EXPECT_NEAR(outcome->devices[0].mean_watts, 70 + curve.Clock(step) * curve.Energy(step) * 600,
              1e-6);
  EXPECT_EQ(outcome->devices[0].throttled_by_power_ns, job.schedule_.makespan_ns);
}

TEST(Limit, WhatMemoryBoundsLosesNoTime) {
  Job job(Powered());
  job.Compute(1'000'000, 400, 100, 0.2);
  const auto outcome = job.Run({.limit_watts = 500});
  EXPECT_EQ(job.schedule_.makespan_ns, 1'000'000);
  EXPECT_LE(outcome->devices[0].peak_watts, 500 * (1 + 1e-9));
}

TEST(Limit, SaysWhereItCannotBeMet) {
  Job job(Powered());
  job.Compute(1'000'000, 100, 500, 0);
  const auto outcome = job.Run({.limit_watts = 300});
  EXPECT_TRUE(outcome->limit_unmet);
  EXPECT_GT(outcome->devices[0].peak_watts, 300);
}

TEST(Limit, OfMeasuredTimesCutsWhatTheModelHasAbove) {
  Job job(Powered());
  job.Compute(1'000'000, 900, 0, 1);
  const auto outcome = job.Run({}, false);
  EXPECT_EQ(job.schedule_.makespan_ns, 1'000'000);
  EXPECT_DOUBLE_EQ(outcome->devices[0].peak_watts, 700);
  EXPECT_NEAR(outcome->devices[0].joules, 0.7, 1e-12);
}

TEST(Limit, Refuses) {
  Job job(Powered());
  job.Compute(1000, 100, 0, 1);
  EXPECT_THAT(job.Run({.limit_watts = 50}).error().message, HasSubstr("idle power"));
  job.machine_.device.power.low_voltage.reset();
  EXPECT_THAT(job.Run({.limit_watts = 300}).error().message, HasSubstr("clock-power curve"));
  job.machine_.device.thermal.kelvin_per_watt.reset();
  EXPECT_THAT(job.Run({.until_steady = true}).error().message, HasSubstr("device.thermal"));
  EXPECT_DOUBLE_EQ(*ParsePowerLimit("0.5kW"), 500);
  EXPECT_EQ(ParsePowerLimit("500 V").error().kind, ErrorKind::kUsage);
  EXPECT_EQ(ParsePowerLimit("-5").error().kind, ErrorKind::kUsage);
}

TEST(Heat, MeanTemperatureIsInletAndResistanceTimesPower) {
  Job job = RandomJob(3);
  const auto outcome = job.Run({.until_steady = true});
  const ThermalModel& thermal = job.machine_.device.thermal;
  for (const DevicePower& device : outcome->devices) {
    EXPECT_NEAR(*device.mean_celsius,
                thermal.inlet_celsius->value + thermal.kelvin_per_watt->value * device.mean_watts,
                1e-9);
    EXPECT_NEAR(device.samples.front().celsius, device.samples.back().celsius, 1e-9);
    EXPECT_GE(*device.max_celsius, *device.mean_celsius);
  }
}

TEST(Heat, TheRearStandsInTheAirOfTheFront) {
  Job job(Powered());
  job.Compute(1'000'000'000, 300, 0, 1);
  job.NextDevice(4, 0);
  job.Compute(1'000'000'000, 300, 0, 1);
  const auto outcome = job.Run({.until_steady = true});
  const double front_watts = outcome->devices[0].mean_watts;
  EXPECT_NEAR(*outcome->devices[1].mean_celsius - *outcome->devices[0].mean_celsius,
              job.machine_.device.thermal.preheat_kelvin_per_watt->value * front_watts, 1e-9);
  // One step, from a cold device, knows no slots.
  const auto cold = job.Run({});
  EXPECT_EQ(*cold->devices[0].max_celsius, *cold->devices[1].max_celsius);
  EXPECT_LT(*cold->devices[0].max_celsius, *outcome->devices[0].max_celsius);
}

TEST(Heat, LowersTheClockAndLengthensTheStep) {
  std::int64_t step_ns = 0;
  for (const double inlet : {25.0, 45.0, 60.0}) {
    Job job(Powered());
    job.machine_.device.thermal.inlet_celsius->value = inlet;
    job.Compute(500'000'000, 600, 0, 1);
    job.NextDevice(4, 0);
    job.Compute(500'000'000, 600, 0, 1);
    const auto outcome = job.Run({.until_steady = true});
    EXPECT_TRUE(outcome->settled);
    EXPECT_FALSE(outcome->heat_unmet);
    EXPECT_GE(job.schedule_.makespan_ns, step_ns);
    step_ns = job.schedule_.makespan_ns;
    for (const DevicePower& device : outcome->devices) {
      EXPECT_LE(*device.max_celsius, 85 + 1e-6);
      EXPECT_EQ(device.throttled_by_heat_ns > 0, device.throttled_ns > 0);
    }
    // No colder than a few steps of the clock make it.
    EXPECT_EQ(outcome->devices[1].throttled_by_heat_ns > 0, inlet > 30);
    if (inlet > 30) {
      EXPECT_GT(*outcome->devices[1].max_celsius, 84);
    }
  }
}

TEST(Clock, CurveFallsToTheRidgeAndEndsAtTheLowest) {
  const MachineModel machine = Powered();
  const ClockCurve curve(machine.device.power);
  EXPECT_EQ(curve.Energy(0), 1);
  for (std::int32_t step = 1; step <= curve.lowest(); ++step) {
    EXPECT_LT(curve.Clock(step), curve.Clock(step - 1));
    EXPECT_LE(curve.Energy(step), curve.Energy(step - 1));
  }
  EXPECT_NEAR(curve.Hertz(curve.lowest()), machine.device.power.clock_min_hertz->value, 1);
  const double low = machine.device.power.low_voltage->value;
  EXPECT_NEAR(curve.Energy(curve.lowest()), low * low, 1e-12);
}

TEST(Work, OperationsTakeTheirFormatsEnergy) {
  const MachineModel machine = Powered();
  const PowerModel& power = machine.device.power;
  const OperatorWork gemm{OpClass::kGemm, DType::kBFloat16, 1e12, 1e6, true};
  const NodeEnergy of_gemm = OperationEnergy(machine.device, gemm);
  EXPECT_NEAR(
      of_gemm.core_joules,
      power.matrix_joules_per_flop[static_cast<std::size_t>(RateFormat::kBFloat16)]->value * 1e12,
      1e-9);
  EXPECT_NEAR(of_gemm.other_joules, power.memory_joules_per_byte->value * 1e6, 1e-12);
  EXPECT_EQ(of_gemm.core_share, 1);
  const OperatorWork add{OpClass::kElementwise, DType::kBFloat16, 1e6, 6e9, true};
  const NodeEnergy of_add = OperationEnergy(machine.device, add);
  EXPECT_LT(of_add.core_share, 0.01);
  EXPECT_THAT(of_add.core_joules, DoubleNear(5.54e-12 * 1e6, 1e-9));
}

TEST(Work, TransfersTakeTheBytesThatTheySend) {
  const MachineModel machine = Powered();
  const Network network = *Network::Create(machine, 16);
  const double link = machine.links[0].joules_per_byte->value;
  const double memory = machine.device.power.memory_joules_per_byte->value;
  std::vector<std::int32_t> node = {0, 1, 2, 3, 4, 5, 6, 7};
  const NodeEnergy inside =
      TransferEnergy(machine, CommKind::kAllReduce, 8e9, network.ShapeOf(node));
  EXPECT_NEAR(inside.other_joules, 14e9 * (link + 2 * memory), 1e-6);
  // Two of sixteen hops leave a node, by a network that takes its power elsewhere.
  for (std::int32_t rank = 8; rank < 16; ++rank) {
    node.push_back(rank);
  }
  const NodeEnergy across =
      TransferEnergy(machine, CommKind::kAllReduce, 16e9, network.ShapeOf(node));
  EXPECT_NEAR(across.other_joules, 30e9 * (link * 14 / 16 + 2 * memory), 1e-6);
}

}  // namespace
}  // namespace reprise
