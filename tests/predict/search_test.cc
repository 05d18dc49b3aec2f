// Which layout is fastest: the layouts that there are, their estimates, and that none is missed.
#include "predict/search/search.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "predict/search/layouts.h"
#include "predict/search/search_text.h"
#include "predict/workload/job/generate.h"

namespace reprise {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

TargetMachine Machine(const std::vector<std::string>& overrides = {}) {
  auto machine = TargetMachine::Create({.machine = "a100-hgx", .overrides = overrides});
  EXPECT_TRUE(machine) << machine.error().message;
  return std::move(*machine);
}

JobOptions Job(const std::string& what, std::int64_t ranks) {
  JobOptions job;
  job.what = what;
  job.ranks = ranks;
  return job;
}

Layouts All(const JobOptions& job) {
  auto layouts = LayoutsOf(job, *Machine().options.to);
  EXPECT_TRUE(layouts) << layouts.error().message;
  return std::move(*layouts);
}

TEST(LayoutsOfAJob, AreOpenWithoutTensorAndPipelineParallelism) {
  JobOptions job = Job("gpt-small", 8);
  EXPECT_TRUE(LeavesLayoutOpen(job));
  job.tp = 2;
  EXPECT_TRUE(LeavesLayoutOpen(job));
  job.pp = 2;
  EXPECT_FALSE(LeavesLayoutOpen(job));
  job.ranks.reset();
  job.pp.reset();
  EXPECT_FALSE(LeavesLayoutOpen(job));
}

TEST(LayoutsOfAJob, KeepTheRulesAndWhatIsGiven) {
  JobOptions job = Job("llama3-70b", 64);
  job.global_batch = 512;
  job.tp = 8;
  job.recompute = "full";
  const Layouts layouts = All(job);
  std::set<std::string> chosen;
  std::set<std::int64_t> stages;
  for (const Layouts::One& one : layouts.all) {
    EXPECT_TRUE(CheckWorkload(one.workload));
    EXPECT_EQ(one.workload.layout.ranks(), 64);
    EXPECT_EQ(one.workload.layout.tp, 8);
    EXPECT_EQ(one.workload.recompute, Recompute::kFull);
    EXPECT_EQ(one.workload.global_batch, 512);
    stages.insert(one.workload.layout.pp);
    EXPECT_TRUE(chosen.insert(ChosenOptions(job, one.options)).second) << "twice";
  }
  EXPECT_EQ(stages, (std::set<std::int64_t>{1, 2, 4, 8}));
  EXPECT_THAT(chosen, Contains("--pp 4 --sp --distributed-optimizer --micro-batch 2 --schedule "
                               "interleaved:2"));
  EXPECT_THAT(layouts.kept, Contains(Pair("tp", "8")));
  EXPECT_THAT(layouts.kept, Contains(Pair("overlap", "none")));
}

// 126 layers: what no number of stages divides is spread.
TEST(LayoutsOfAJob, SpreadLayers) {
  JobOptions job = Job("llama3-405b", 16384);
  job.tp = 8;
  job.micro_batch = 1;
  job.recompute = "none";
  std::map<std::int64_t, std::vector<std::int64_t>> spread;
  for (const Layouts::One& one : All(job).all) {
    spread[one.workload.layout.pp] = one.workload.LayersOfChunks();
  }
  EXPECT_EQ(spread.at(4), (std::vector<std::int64_t>{31, 32, 32, 31}));
  EXPECT_EQ(spread.at(16).front(), 7);  // as its description has it
  EXPECT_EQ(spread.at(16).back(), 7);
}

TEST(LayoutsOfAJob, SayWhyThereIsNone) {
  JobOptions job = Job("gpt-small", 8);
  job.tp = 3;
  const auto layouts = LayoutsOf(job, *Machine().options.to);
  ASSERT_FALSE(layouts);
  EXPECT_THAT(layouts.error().message, HasSubstr("3"));
  job.tp.reset();
  job.routing = "zipf:1";
  const auto without_effect = LayoutsOf(job, *Machine().options.to);
  ASSERT_FALSE(without_effect);
  EXPECT_THAT(without_effect.error().message, HasSubstr("--routing has no effect"));
}

// Of layouts with few and many stages, with recomputation, experts, and states that are divided.
TEST(Estimates, AreNearTheSimulatedJobAndNotAboveIt) {
  const std::vector<std::vector<std::pair<std::string, std::string>>> cases = {
      {{"tp", "2"}, {"pp", "4"}},
      {{"tp", "4"}, {"pp", "2"}, {"recompute", "full"}, {"micro-batch", "2"}},
      {{"tp", "1"}, {"pp", "1"}, {"fsdp", "on"}, {"recompute", "full"}},
      {{"tp", "2"}, {"pp", "4"}, {"schedule", "interleaved:2"}},
      {{"tp", "1"}, {"pp", "8"}},
      {{"tp", "8"}, {"pp", "1"}, {"micro-batch", "4"}},
      {{"tp", "2"}, {"pp", "8"}, {"schedule", "interleaved:4"}},
      {{"tp", "2"}, {"pp", "2"}, {"fsdp", "on"}},
      {{"tp", "2"}, {"pp", "4"}, {"lora", "16"}},
      {{"tp", "1"}, {"pp", "1"}, {"fsdp", "on"}, {"recompute", "full"}, {"lora", "16"}},
      {{"tp", "4"}, {"pp", "1"}, {"lora", "8"}, {"lora-targets", "linear_proj"}},
      {{"tp", "2"}, {"pp", "3"}, {"layers-per-stage", "11+11+10"}, {"ranks", "12"}}};
  JobEstimator estimator(Machine());
  for (const auto& options : cases) {
    JobOptions job = Job("llama3-8b", 16);
    job.global_batch = 64;
    std::string name;
    for (const auto& [option, text] : options) {
      ASSERT_TRUE(SetJobOption(option, text, job));
      name += fmt::format("{} {} ", option, text);
    }
    if (job.ranks == 12) {
      job.global_batch = 32;
    }
    job.sp = *job.tp > 1;
    const auto workload = MakeJob(job);
    ASSERT_TRUE(workload) << workload.error().message;
    const auto estimate = estimator.Estimate(*workload);
    ASSERT_TRUE(estimate) << estimate.error().message;
    const auto simulated = PredictJob(Machine(), *workload, {});
    ASSERT_TRUE(simulated) << simulated.error().message;
    const auto step = static_cast<double>(simulated->step_time_ns);
    const auto peak = static_cast<double>(simulated->memory->peak_bytes);
    EXPECT_LT(estimate->step_ns / step, 1 + kEstimateMargin) << name;
    EXPECT_GT(estimate->step_ns / step, 0.90) << name;
    EXPECT_LT(estimate->peak_bytes / peak, 1.0001) << name;
    // Parameters that are gathered beside others are not in it.
    EXPECT_GT(estimate->peak_bytes / peak, job.fsdp ? 0.8 : 0.95) << name;
  }
}

// What a search leaves out is none of the best: all layouts simulated.
TEST(Searches, FindTheFastestOfAll) {
  for (const char* const what :
       {"gpt-small", "mixtral-small", "dlrm-small", "gpt-oss-small", "llama-lora-small"}) {
    JobOptions job = Job(what, 4);
    job.recompute = "none";
    const TargetMachine machine = Machine();
    std::size_t shown = 0;
    const auto search = SearchLayouts(
        {.machine = &machine, .job = job, .progress = [&](const SearchProgress&) { ++shown; }});
    ASSERT_TRUE(search) << search.error().message;
    const Layouts layouts = All(job);
    std::vector<std::int64_t> steps;
    for (const Layouts::One& one : layouts.all) {
      const auto prediction = PredictJob(machine, one.workload, {});
      ASSERT_TRUE(prediction) << prediction.error().message;
      steps.push_back(prediction->step_time_ns);
    }
    std::ranges::sort(steps);
    ASSERT_EQ(search->best.size(), std::min(layouts.all.size(), kBestLayouts)) << what;
    for (std::size_t i = 0; i < search->best.size(); ++i) {
      EXPECT_EQ(search->best[i].prediction->step_time_ns, steps[i]) << what << " " << i;
    }
    EXPECT_EQ(search->considered, layouts.all.size());
    EXPECT_EQ(search->considered, search->too_large + search->slower + search->simulated);
    EXPECT_EQ(shown, search->considered + search->simulated);
    EXPECT_FALSE(search->nearest);
  }
}

TEST(Searches, SayWhatDoesNotFit) {
  JobOptions job = Job("llama3-8b", 8);
  job.tp = 1;
  job.micro_batch = 1;
  const TargetMachine small = Machine({"device.memory.capacity=2GB"});
  const auto none = SearchLayouts({.machine = &small, .job = job});
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_EQ(none->too_large, none->considered);
  EXPECT_TRUE(none->best.empty());
  ASSERT_TRUE(none->nearest);
  EXPECT_THAT(SearchText(*none), HasSubstr("None fits. What lacks the least takes"));
  const nlohmann::ordered_json json = SearchJson(*none);
  EXPECT_EQ(json["best"].size(), 0U);
  EXPECT_GT(json["nearest"]["peak_bytes"], 1'000'000'000);

  const auto some = SearchLayouts({.machine = &small, .job = Job("gpt-small", 8)});
  ASSERT_TRUE(some) << some.error().message;
  const std::string text = SearchText(*some);
  for (const char* const words : {"layouts keep the rules", "were simulated", "bound by", "W each",
                                  "--tp ", "cp 1", "with the options below its row"}) {
    EXPECT_THAT(text, HasSubstr(words));
  }
  const nlohmann::ordered_json best = SearchJson(*some)["best"][0];
  const nlohmann::ordered_json& parts = best["step_parts"];
  std::int64_t sum = 0;
  for (const auto& part : parts) {
    sum += part.get<std::int64_t>();
  }
  EXPECT_NEAR(static_cast<double>(sum), best["prediction"]["step_time_ns"].get<double>(), 4);
}

TEST(Searches, RefuseMachinesThatAreTooSmall) {
  const TargetMachine machine = Machine({"node.nodes=1"});
  const auto search = SearchLayouts({.machine = &machine, .job = Job("gpt-small", 16)});
  ASSERT_FALSE(search);
  EXPECT_THAT(search.error().message, HasSubstr("16 ranks"));
}

}  // namespace
}  // namespace reprise
