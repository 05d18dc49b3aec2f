// Jobs extended from few micro-batches are equal to whole ones.
#include "predict/extended_job.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>

#include "predict/prediction_json.h"
#include "predict/simulate.h"
#include "predict/workload/job/generate.h"
#include "predict/workload/job/options.h"
#include "tests/every_nth.h"

namespace reprise {
namespace {

Result<Workload> MakeJobOf(const std::string& what,
                           const std::map<std::string, std::string>& given) {
  JobOptions options{.what = what};
  for (const auto& [name, text] : given) {
    EXPECT_TRUE(SetJobOption(name, text, options)) << name << " " << text;
  }
  return MakeJob(options);
}

// Numbers to a billionth, everything else as it is.
void ExpectEqual(const nlohmann::ordered_json& a, const nlohmann::ordered_json& b,
                 const std::string& where) {
  if (a.is_number_float() || b.is_number_float()) {
    ASSERT_TRUE(a.is_number() && b.is_number()) << where;
    EXPECT_NEAR(a.get<double>(), b.get<double>(), 1e-9 * std::abs(a.get<double>())) << where;
    return;
  }
  ASSERT_EQ(a.type(), b.type()) << where;
  ASSERT_EQ(a.size(), b.size()) << where;
  if (a.is_object()) {
    for (const auto& [key, value] : a.items()) {
      ExpectEqual(value, b.at(key), fmt::format("{}.{}", where, key));
    }
  } else if (a.is_array()) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      ExpectEqual(a[i], b[i], where + "[]");
    }
  } else {
    EXPECT_EQ(a, b) << where;
  }
}

struct RandomJob {
  std::string text;
  Workload workload;
  MachineRequest machine;
};

class RandomJobs {
 public:
  RandomJob Next() {
    for (;;) {
      const std::int64_t dp = Of({1, 2, 3});
      const std::int64_t micro = Of({1, 2});
      const std::int64_t pp = Of({1, 2, 4});
      const std::int64_t batches = Between(20, 90);
      std::map<std::string, std::string> given = {
          {"tp", std::to_string(Of({1, 2}))},
          {"pp", std::to_string(pp)},
          {"dp", std::to_string(dp)},
          {"micro-batch", std::to_string(micro)},
          {"global-batch", std::to_string(dp * micro * batches)},
          {"schedule", std::vector<std::string>{"1f1b", "interleaved:2"}[Between(0, 1)]},
          {"recompute", std::vector<std::string>{"none", "selective", "full"}[Between(0, 2)]},
          {"fsdp", Between(0, 4) == 0 ? "on" : "off"}};
      if (pp == 2 && Between(0, 2) == 0) {
        given["layers-per-stage"] = "1+3";
      }
      const auto workload = MakeJobOf("gpt-small", given);
      if (!workload) {
        continue;
      }
      MachineRequest machine{.machine = Between(0, 1) == 0 ? "h100-hgx" : "a100-hgx"};
      if (Between(0, 3) == 0) {
        machine.slow_ranks = {"0=1.37"};
      }
      machine.flow = Between(0, 3) == 0;
      machine.power_limit = Between(0, 3) == 0 ? "150W" : "";
      machine.overrides = {fmt::format("device.power.limit_window={}us", Of({0, 100, 3000}))};
      std::string text;
      for (const auto& [name, value] : given) {
        text += fmt::format("{} {} ", name, value);
      }
      return {text, *workload, machine};
    }
  }

 private:
  std::int64_t Between(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  std::int64_t Of(const std::vector<std::int64_t>& values) {
    return values[static_cast<std::size_t>(
        Between(0, static_cast<std::int64_t>(values.size()) - 1))];
  }

  std::mt19937_64 random_{20261127};
};

TEST(ExtendedJobs, AreEqualToWholeOnes) {
  RandomJobs jobs;
  int extended_jobs = 0;
  const int count = RunsLong() ? 200 : 70;  // of 1,500, too
  for (int i = 0; i < count; ++i) {
    const RandomJob job = jobs.Next();
    const auto machine = TargetMachine::Create(job.machine);
    ASSERT_TRUE(machine) << machine.error().message;
    const auto whole_job = [&](const Workload& workload) {
      return PredictJob(*machine, workload, {.whole = true});
    };
    const auto extended = PredictExtended(
        job.workload, machine->options.to->device,
        [&](const Workload& small) { return PredictJob(*machine, small, {.small = true}); });
    ASSERT_TRUE(extended) << extended.error().message;
    if (!*extended) {
      continue;
    }
    ++extended_jobs;
    const auto whole = whole_job(job.workload);
    ASSERT_TRUE(whole);
    ASSERT_EQ((*extended)->step_time_ns, whole->step_time_ns) << job.text;
    ASSERT_EQ((*extended)->exposed_sum_ns + (*extended)->bubble_sum_ns,
              whole->exposed_sum_ns + whole->bubble_sum_ns)
        << job.text;
    ASSERT_NO_FATAL_FAILURE(
        ExpectEqual(PredictionJson(*whole), PredictionJson(**extended), job.text));
    ASSERT_FALSE(HasFailure()) << job.text;
  }
  RecordProperty("extended", extended_jobs);
  EXPECT_GT(extended_jobs, count / 3);
}

// A job on h100-hgx both ways, and the micro-batches of the small jobs that were asked for.
struct BothWays {
  std::optional<Prediction> extended, whole;
  std::vector<std::int64_t> batches;
};
BothWays PredictBothWays(const std::string& preset,
                         const std::map<std::string, std::string>& options) {
  const auto job = MakeJobOf(preset, options);
  const auto machine = TargetMachine::Create({.machine = "h100-hgx"});
  BothWays both;
  if (!job || !machine) {
    return both;
  }
  auto extended = PredictExtended(*job, machine->options.to->device, [&](const Workload& small) {
    both.batches.push_back(small.micro_batches());
    return PredictJob(*machine, small, {.small = true});
  });
  auto whole = PredictJob(*machine, *job, {.whole = true});
  if (extended && whole) {
    both.extended = std::move(*extended);
    both.whole = std::move(*whole);
  }
  return both;
}

// Micro-batches are shorter than the window of the limiter: the small jobs have more of them.
TEST(ExtendedJobs, OfShortMicroBatchesAreLongerThanTheWindow) {
  const BothWays both = PredictBothWays(
      "gpt-small",
      {{"tp", "1"}, {"pp", "2"}, {"dp", "1"}, {"micro-batch", "1"}, {"global-batch", "1200"}});
  ASSERT_TRUE(both.extended && both.whole);
  EXPECT_EQ(both.batches.size(), 8U);  // four, and four that are longer
  EXPECT_GT(both.batches[4], both.batches[3]);
  EXPECT_EQ(both.extended->step_time_ns, both.whole->step_time_ns);
  EXPECT_EQ(both.whole->power->limit_window_ns, 25'000'000);
  EXPECT_EQ(both.whole->power->devices[0].peak_ns, 25'000'000);
  ExpectEqual(PredictionJson(*both.whole), PredictionJson(*both.extended), "1200");
}

// The second stage's hottest moment settles after all of the small jobs: it follows from their
// power.
TEST(ExtendedJobs, TemperaturesThatSettleLateFollowFromPower) {
  const BothWays both = PredictBothWays(
      "llama3-70b",
      {{"tp", "8"}, {"pp", "2"}, {"dp", "4"}, {"micro-batch", "1"}, {"global-batch", "512"}});
  ASSERT_TRUE(both.extended && both.whole);
  EXPECT_LT(*std::ranges::max_element(both.batches), 12);
  EXPECT_EQ(both.extended->step_time_ns, both.whole->step_time_ns);
  EXPECT_EQ(both.extended->memory->peak_bytes, both.whole->memory->peak_bytes);
  EXPECT_NEAR(*both.extended->energy_joules / *both.whole->energy_joules, 1, 1e-9);
  const DeviceSummary& extended = both.extended->power->summary;
  const DeviceSummary& whole = both.whole->power->summary;
  EXPECT_NEAR(extended.peak_watts / whole.peak_watts, 1, 1e-9);
  EXPECT_NEAR(*extended.max_celsius, *whole.max_celsius, 1e-6);
  EXPECT_NEAR(*extended.mean_celsius, *whole.mean_celsius, 1e-6);
}

TEST(ExtendedJobs, WhatFewMicroBatchesDoNotTellIsSimulatedWhole) {
  int asked = 0;
  const auto count = [&asked](const Workload& /*workload*/) -> Result<Prediction> {
    ++asked;
    return Prediction{.step_time_ns = asked * asked};  // no line
  };
  const auto job = MakeJobOf(
      "gpt-small", {{"dp", "1"}, {"pp", "1"}, {"micro-batch", "1"}, {"global-batch", "64"}});
  ASSERT_TRUE(job);
  EXPECT_FALSE(*PredictExtended(*job, DeviceModel(), count));
  EXPECT_EQ(asked, 8);  // four, and four of twice the length
  // Few of its own.
  const auto small = MakeJobOf(
      "gpt-small", {{"dp", "1"}, {"pp", "1"}, {"micro-batch", "1"}, {"global-batch", "8"}});
  ASSERT_TRUE(small);
  EXPECT_FALSE(*PredictExtended(*small, DeviceModel(), count));
  EXPECT_EQ(asked, 8);
}

TEST(ExtendedJobs, PeaksOfMemoryFollow) {
  for (const char* schedule : {"1f1b", "zb-h1", "gpipe"}) {
    const auto job = MakeJobOf("gpt-small", {{"dp", "1"},
                                             {"pp", "2"},
                                             {"schedule", schedule},
                                             {"micro-batch", "1"},
                                             {"global-batch", "64"}});
    ASSERT_TRUE(job);
    const auto peak = [](const Workload& workload) -> Result<std::int64_t> {
      REPRISE_ASSIGN(const GenerateSummary summary, Generate({.workload = workload}));
      return FactsOf(workload, summary).PeakBytes();
    };
    EXPECT_EQ(*NumberOfJob(*job, peak), *peak(*job)) << schedule;
  }
}

}  // namespace
}  // namespace reprise
