// What the processor did during an iteration, from the files of a fake root and of this machine.
#include "report/telemetry/load_meter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/parallel.h"
#include "tests/telemetry/fixture_root.h"

namespace reprise {
namespace {

TEST(LoadMeter, CountsTheCoresOfTheProcessAlone) {
  const FixtureRoot root;
  root.Write("/proc/stat", "cpu  9 0 9 9 9\ncpu0 50 0 20 400 5 0 0 1\ncpu1 7 0 7 7 7 0 0 7\n");
  root.Write("/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n");
  root.Write("/proc/loadavg", "2.35 1.00 0.50 3/120 999\n");
  LoadMeter meter(root.path(), {0});
  meter.Begin();
  root.Write("/proc/stat", "cpu  9 0 9 9 9\ncpu0 60 0 25 400 5 0 0 4\ncpu1 99 0 9 9 9 0 0 99\n");
  root.Write("/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500\n");
  const IterationLoad load = meter.End(3);
  const std::int64_t tick_ns = 1'000'000'000 / sysconf(_SC_CLK_TCK);
  EXPECT_EQ(load.iteration, 3);
  EXPECT_EQ(load.busy_ns, 15 * tick_ns);  // without the three that were stolen
  EXPECT_EQ(load.stolen_ns, 3 * tick_ns);
  EXPECT_EQ(load.pressure_ns, 500'000);
  EXPECT_EQ(load.load_hundredths, 235);
  EXPECT_GE(load.wall_ns, 0);
}

TEST(LoadMeter, WhatCannotBeReadIsUnknown) {
  const FixtureRoot root;
  root.Write("/proc/stat", "cpu  9 0 9 9 9\ncpu0 50 0 20 400 5 0 0 1\n");
  LoadMeter meter(root.path(), {0, 1});  // a container's file may not list all cores
  meter.Begin();
  const IterationLoad load = meter.End(0);
  EXPECT_EQ(load.busy_ns, -1);
  EXPECT_EQ(load.stolen_ns, -1);
  EXPECT_EQ(load.pressure_ns, -1);
  EXPECT_EQ(load.load_hundredths, -1);
}

// All threads of this process are its own: none of their time is another program's.
TEST(LoadMeter, CountsAllThreadsOfTheProcessOnce) {
  LoadMeter meter("", OwnCoreNumbers());
  LoadMeter second("", OwnCoreNumbers());
  meter.Begin();
  second.Begin();
  std::vector<std::jthread> threads(2);
  for (std::jthread& thread : threads) {
    thread = std::jthread([] {
      for (const std::int64_t end_ns = MonotonicNs() + 300'000'000; MonotonicNs() < end_ns;) {
      }
    });
  }
  threads.clear();
  const IterationLoad load = meter.End(0);
  EXPECT_GE(load.own_cpu_ns, 50'000'000);  // on a busy machine they get less than 600 ms
  EXPECT_LE(load.own_cpu_ns, 2 * load.wall_ns + 20'000'000);
  EXPECT_EQ(second.End(0).own_cpu_ns, 0);
}

}  // namespace
}  // namespace reprise
