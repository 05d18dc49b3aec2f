// Sweeps as data: the jobs of keys and of sweep files, what is refused, and the built-in ones.
#include "predict/sweep/sweep.h"

#include <gmock/gmock.h>

#include <set>
#include <string>

#include "predict/machine/catalogue.h"
#include "predict/workload/job/generate.h"

namespace reprise {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

JobOptions Preset(const std::string& what) {
  JobOptions job;
  job.what = what;
  return job;
}

TEST(SweepsOfAJob, AreAllCombinations) {
  const auto sweep =
      SweepOfJob(Preset("gpt-small"), {"tp=1,2", "micro_batch=1,2", "recompute=none,full"});
  ASSERT_TRUE(sweep) << sweep.error().message;
  ASSERT_EQ(sweep->jobs.size(), 8U);
  EXPECT_EQ(sweep->keys[1].name, "micro-batch");
  const SweepJob& third = sweep->jobs[2];
  EXPECT_THAT(third.values, ElementsAre("1", "2", "none"));
  EXPECT_EQ(third.options.tp, 1);
  EXPECT_EQ(third.options.micro_batch, 2);
  // Layouts and settings have names of their own; numbers of the step are axes.
  EXPECT_EQ(third.model, "gpt-small");
  EXPECT_EQ(third.layout, "tp1");
  EXPECT_EQ(third.setting, "recompute=none");
  EXPECT_EQ(ConfigurationText(sweep->keys, third.values), "tp=1 micro-batch=2 recompute=none");
  EXPECT_FALSE(sweep->several_models);
}

TEST(SweepsOfAJob, RefuseWhatMeansNothing) {
  JobOptions with_tp = Preset("gpt-small");
  with_tp.tp = 8;
  struct Refused {
    JobOptions job;
    std::vector<std::string> keys;
    std::string why;
  };
  const std::vector<Refused> refused = {
      {Preset("gpt-small"), {"tp"}, "expected KEY=VALUE,VALUE"},
      {Preset("gpt-small"), {"tp="}, "expected KEY=VALUE,VALUE"},
      {Preset("gpt-small"), {"tp=1", "tp=2"}, "given twice"},
      {Preset("gpt-small"), {"tp=1,2,1"}, "a value is given twice"},
      {Preset("gpt-small"), {"tpp=1"}, "did you mean tp?"},
      {Preset("gpt-small"), {"tp=0"}, "at least 1"},
      {Preset("gpt-small"), {"fsdp=yes"}, "on or off"},
      {Preset("gpt-small"), {"name=a"}, "layout or step"},
      {Preset("gpt-small"), {"routing=balanced,zipf:1"}, "has no effect"},
      {with_tp, {"tp=4"}, "--tp 8 and tp=… both say tp"},
      {Preset("gpt-smal"), {"tp=1"}, "did you mean gpt-small?"}};
  for (const Refused& one : refused) {
    const auto sweep = SweepOfJob(one.job, one.keys);
    ASSERT_FALSE(sweep) << one.why;
    EXPECT_THAT(sweep.error().message, HasSubstr(one.why));
  }
}

std::string File(const std::string& rest) {
  return R"({"format": "reprise-sweep-file", "version": 1, )" + rest + "}";
}

TEST(SweepFiles, AreModelsTimesLayoutsTimesSettingsTimesValues) {
  const auto sweep = ParseSweep(File(R"("machine": "h100-hgx", "options": {"ranks": 8, "tp": 4},
              "models": ["gpt-small", {"job": "mixtral-small", "name": "moe", "options": {"sequence": 64},
                                       "layouts": [{"tp": 1, "ep": 2}]}],
              "layouts": [{"name": "wide", "tp": 2}, {"tp": 1, "pp": 2, "fsdp": false}],
              "settings": [{"name": "base"}, {"overlap": ["tp", "grad"], "recompute": "full"}],
              "vary": {"micro_batch": [1, 2]})"),
                                "mine", "mine.json");
  ASSERT_TRUE(sweep) << sweep.error().message;
  EXPECT_EQ(sweep->machine, "h100-hgx");
  EXPECT_TRUE(sweep->several_models);
  ASSERT_EQ(sweep->jobs.size(), 2U * 2 * 2 + 1U * 2 * 2);
  std::vector<std::string> names;
  for (const SweepKey& key : sweep->keys) {
    names.push_back(key.name);
  }
  EXPECT_THAT(names, ElementsAre("model", "layout", "setting", "micro-batch"));
  EXPECT_THAT(sweep->keys[1].values, ElementsAre("wide", "tp1 pp2 fsdp=off", "tp1 ep2"));
  const SweepJob& last_of_gpt = sweep->jobs[7];
  EXPECT_THAT(last_of_gpt.values,
              ElementsAre("gpt-small", "tp1 pp2 fsdp=off", "overlap=tp+grad recompute=full", "2"));
  // What stands nearer to the job goes over what is shared.
  EXPECT_EQ(last_of_gpt.options.ranks, 8);
  EXPECT_EQ(last_of_gpt.options.tp, 1);
  EXPECT_EQ(last_of_gpt.options.micro_batch, 2);
  EXPECT_EQ(last_of_gpt.options.overlap, (std::vector<std::string>{"tp", "grad"}));
  EXPECT_EQ(sweep->jobs[8].options.what, "mixtral-small");
  EXPECT_EQ(sweep->jobs[8].options.sequence, 64);

  const auto chosen = ChooseJobs(*sweep, {"setting=base", "micro-batch=2"});
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->jobs.size(), 3U);
  EXPECT_THAT(ChooseJobs(*sweep, {"setting=bas"}).error().message, HasSubstr("did you mean base?"));
  EXPECT_THAT(ChooseJobs(*sweep, {"tp=1"}).error().message, HasSubstr("it has model, layout"));
  EXPECT_THAT(ChooseJobs(*sweep, {"model=moe", "layout=wide"}).error().message,
              HasSubstr("no job of the sweep mine"));
}

TEST(SweepFiles, SayWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"{", "no JSON; expected a sweep file"},
      {"[1]", "the sweep is no object"},
      {R"({"models": ["gpt-small"]})", "expected \"format\""},
      {File(R"("models": [])"), "\"models\": expected a list"},
      {File(R"("model": ["gpt-small"])"), "did you mean models?"},
      {File(R"("models": [3])"), "names no \"job\""},
      {File(R"("models": [{"jobs": "gpt-small"}])"), "did you mean job?"},
      {File(R"("models": ["gpt-small"], "machine": 3)"), "\"machine\": expected a text"},
      {File(R"("models": ["gpt-small"], "layouts": {"tp": 1})"), "expected a list of objects"},
      {File(R"("models": ["gpt-small"], "layouts": [{"tpp": 1}])"), "did you mean tp?"},
      {File(R"("models": ["gpt-small"], "layouts": [{"tp": 1.5}])"), "\"tp\" is 1.5"},
      {File(R"("models": ["gpt-small"], "layouts": [{"tp": 0}])"), "at least 1"},
      {File(R"("models": ["gpt-small"], "layouts": [{}])"), "neither options nor a \"name\""},
      {File(R"("models": ["gpt-small"], "layouts": [{"tp": 1}, {"tp": 1}])"), "two are called tp1"},
      {File(R"("models": ["gpt-small"], "vary": {"tp": 1})"), "expected a list of values"},
      {File(R"("models": ["gpt-small"], "vary": {"tpp": [1]})"), "did you mean tp?"},
      {File(R"("models": ["gpt-small"], "options": {"fsdp": "yes"})"), "on or off"}};
  for (const auto& [text, why] : wrong) {
    const auto sweep = ParseSweep(text, "x", "x.json");
    ASSERT_FALSE(sweep) << text;
    EXPECT_EQ(sweep.error().kind, ErrorKind::kBadInput) << text;
    EXPECT_THAT(sweep.error().message, HasSubstr("x.json: ")) << text;
    EXPECT_THAT(sweep.error().message, HasSubstr(why)) << text;
  }
}

// Each names a machine that there is; what cannot be breaks a rule of the generator, and nothing
// else is wrong with it.
TEST(BuiltInSweeps, CanBeRead) {
  const auto sweeps = BuiltinSweeps();
  ASSERT_FALSE(sweeps.empty());
  for (const BuiltinSweep& builtin : sweeps) {
    const auto sweep = ReadSweep(builtin.name);
    ASSERT_TRUE(sweep) << sweep.error().message;
    EXPECT_TRUE(IsSweep(builtin.name));
    EXPECT_TRUE(LoadMachine(sweep->machine)) << sweep->machine;
    EXPECT_FALSE(builtin.source.empty());
    EXPECT_EQ(builtin.jobs, sweep->jobs.size());
    std::size_t possible = 0;
    std::set<std::string> configurations;
    for (const SweepJob& job : sweep->jobs) {
      const auto described = DescribeJob(job.options);
      ASSERT_TRUE(described) << described.error().message;
      possible += CheckWorkload(*described) ? 1 : 0;
      configurations.insert(ConfigurationText(sweep->keys, job.values));
    }
    EXPECT_GT(possible, sweep->jobs.size() * 9 / 10);
    EXPECT_EQ(configurations.size(), sweep->jobs.size());
  }
  EXPECT_FALSE(IsSweep("gpt-small"));
  EXPECT_FALSE(IsSweep("no-such-file.json"));
}

}  // namespace
}  // namespace reprise
