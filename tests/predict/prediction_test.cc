// Predictions of jobs: values, what they say without numbers, and what they refuse.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "predict/prediction_json.h"
#include "predict/prediction_text.h"
#include "predict/simulate.h"
#include "predict/workload/job/options.h"

namespace reprise {
namespace {

using testing::HasSubstr;
using testing::Not;

Workload Job(const std::string& preset, const std::map<std::string, std::string>& options = {}) {
  JobOptions job;
  job.what = preset;
  for (const auto& [name, text] : options) {
    EXPECT_TRUE(SetJobOption(name, text, job));
  }
  const auto workload = MakeJob(job);
  EXPECT_TRUE(workload) << (workload ? "" : workload.error().message);
  return workload.value_or(Workload{});
}

Prediction Predict(const Workload& workload, const MachineRequest& request,
                   const JobRequest& job = {}) {
  const auto machine = TargetMachine::Create(request);
  EXPECT_TRUE(machine) << (machine ? "" : machine.error().message);
  const auto prediction = PredictJob(*machine, workload, job);
  EXPECT_TRUE(prediction) << (prediction ? "" : prediction.error().message);
  return prediction.value_or(Prediction{});
}

std::int64_t StepOf(const std::string& stack) {
  return Predict(Job("llama3-8b", {{"stack", stack}, {"global-batch", "4"}}),
                 {.machine = "h100-hgx"})
      .step_time_ns;
}

// Products in 8 bits on a machine that has a rate of them, and on one that has none.
TEST(Predictions, NeedARateOfEightBits) {
  const auto job = [](const char* recipe) {
    return Job("llama3-8b", {{"fp8", recipe}, {"global-batch", "4"}});
  };
  const std::int64_t fast = Predict(job("delayed"), {.machine = "h100-hgx"}).step_time_ns;
  const std::int64_t slow = Predict(job("none"), {.machine = "h100-hgx"}).step_time_ns;
  EXPECT_LT(fast, slow);
  EXPECT_GT(2 * fast, slow);
  const auto without = TargetMachine::Create({.machine = "a100-hgx"});
  ASSERT_TRUE(without);
  const auto refused = PredictJob(*without, job("delayed"), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(refused.error().message, HasSubstr("device.matrix.float8"));
}

TEST(Predictions, NeedARateOfFourBits) {
  const auto job = [](const char* recipe) {
    return Job("llama3-8b", {{"fp8", recipe}, {"global-batch", "4"}});
  };
  const std::int64_t four = Predict(job("nvfp4"), {.machine = "b200-hgx"}).step_time_ns;
  const std::int64_t eight = Predict(job("mxfp8"), {.machine = "b200-hgx"}).step_time_ns;
  EXPECT_LT(four, eight);
  EXPECT_GT(2 * four, eight);
  const auto without = TargetMachine::Create({.machine = "h100-hgx"});
  ASSERT_TRUE(without);
  const auto refused = PredictJob(*without, job("nvfp4"), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(refused.error().message, HasSubstr("device.matrix.float4"));
}

// The usual stack of each kind of job, by what its description says.
TEST(Predictions, NameTheStackOfAJob) {
  Workload unfused = Job("llama3-8b");
  unfused.model.fused_attention = false;
  Workload on_cpu = Job("llama3-8b");
  on_cpu.device = "cpu";
  for (const auto& [job, stack] : {
           std::pair(Job("llama3-8b"), "megatron-te"),
           std::pair(Job("llama3-8b", {{"fsdp", "on"}, {"tp", "1"}}), "torch-eager"),
           std::pair(Job("vit-large"), "torch-eager"),
           std::pair(Job("megatron-22b"), "deepspeed"),
           std::pair(Job("vit-large", {{"stack", "torch-compile"}}), "torch-compile"),
           std::pair(unfused, "deepspeed"),
           std::pair(on_cpu, "none"),
       }) {
    EXPECT_EQ(StackOf(job), stack) << job.name;
  }
}

TEST(Predictions, OfAStack) {
  EXPECT_GT(StepOf("torch-eager"), StepOf("torch-compile"));
  EXPECT_GT(StepOf("torch-compile"), StepOf("megatron-te"));
  EXPECT_EQ(StepOf("megatron-te"), StepOf("none"));
  const Prediction none = Predict(Job("gpt-small", {{"stack", "none"}}), {.machine = "h100-hgx"});
  EXPECT_EQ(none.stack, std::nullopt);
  const Prediction eager =
      Predict(Job("gpt-small", {{"stack", "torch-eager"}}), {.machine = "h100-hgx"});
  ASSERT_TRUE(eager.stack);
  EXPECT_EQ(eager.stack->name, "torch-eager");
  EXPECT_EQ(PredictionJson(eager).at("stack").at("name"), "torch-eager");
  EXPECT_THAT(PredictionText(eager), HasSubstr("Stack           torch-eager: attention at 0.571"));
  const auto unknown = PredictJob(*TargetMachine::Create({.machine = "h100-hgx"}),
                                  Job("gpt-small", {{"stack", "x"}}), {});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("no stack 'x'"));
}

TEST(Predictions, CountTheMemoryOfAStack) {
  const auto memory = [](const std::string& stack, const std::string& preset) {
    return Predict(Job(preset, {{"stack", stack}}), {.machine = "h100-hgx"})
        .memory->classes[0]
        .bytes;
  };
  const MemorySums none = memory("none", "llama3-8b");
  EXPECT_EQ(none.stack, 0);
  const MemorySums te = memory("megatron-te", "llama3-8b");
  const auto passing = static_cast<double>(none.activations + none.buffers());
  EXPECT_NEAR(static_cast<double>(te.stack), 0.2 * passing + (1 << 30), 2);
  EXPECT_EQ(te.peak, none.peak + te.stack);
  EXPECT_EQ(te.buffers(), none.buffers());
  // Its job adds gradients up in float32, those in bfloat16 are beside them.
  const MemorySums deepspeed = memory("deepspeed", "llama3-8b");
  EXPECT_NEAR(static_cast<double>(deepspeed.stack),
              0.2 * passing + 10.0 * (1 << 30) + static_cast<double>(none.parameters), 2);
  // A job in float32 has none in 16 bits.
  EXPECT_LT(memory("deepspeed", "gpt-small").stack, (std::int64_t{10} << 30) + (1 << 24));
}

TEST(Predictions, OfAJobAddUp) {
  const Prediction of = Predict(Job("gpt-small"), {.machine = "h100-hgx"});
  EXPECT_EQ(of.ranks, 4);
  EXPECT_EQ(of.machine, "h100-hgx");
  EXPECT_GT(of.step_time_ns, 0);
  EXPECT_EQ(of.step_time_recorded_ns, std::nullopt);
  EXPECT_LE(of.exposed_communication_ns + of.bubble_ns, of.step_time_ns);
  ASSERT_TRUE(of.memory);
  EXPECT_EQ(of.memory->fits(), true);
  EXPECT_EQ(of.memory->largest_micro_batch, std::nullopt);  // not requested
  ASSERT_TRUE(of.power);
  double joules = of.power->idle_joules;
  for (const auto& of_class : of.power->classes) {
    joules += of_class.above_idle_joules;
  }
  EXPECT_NEAR(joules / of.power->joules, 1, 1e-9);
  EXPECT_NEAR(of.power->summary.mean_watts * 4, of.power->mean_watts, 1e-6);
  EXPECT_EQ(of.energy_joules, of.power->joules);
  EXPECT_NEAR(*of.PerSecond(of.tokens), static_cast<double>(of.tokens) * 1e9 / of.step_time_ns,
              1e-6);
  EXPECT_EQ(of.PerSecond(0), std::nullopt);
}

// Twelve ranks are in two nodes of eight: what is besides counts for both, once.
TEST(Predictions, OfNodesCountWhatIsInThemBesides) {
  const Workload job =
      Job("gpt-small", {{"tp", "1"}, {"pp", "1"}, {"dp", "12"}, {"global-batch", "24"}});
  const auto with = [&job](const std::string& watts) {
    return Predict(job, {.machine = "h100-hgx", .overrides = {"node.rest_power=" + watts}});
  };
  const Prediction of = with("3kW");
  const double seconds = static_cast<double>(of.step_time_ns) * 1e-9;
  ASSERT_TRUE(of.power && of.power->nodes_joules && of.power->nodes_watts);
  EXPECT_NEAR(*of.power->nodes_joules, of.power->joules + 2 * 3000 * seconds, 6000 * 1e-6);
  EXPECT_NEAR(*of.power->nodes_watts, of.power->mean_watts + 2 * 3000, 1e-6);
  double total = 0;
  for (const auto& row : of.power->nodes) {
    ASSERT_TRUE(row.total_joules && row.total_watts);
    EXPECT_NEAR(*row.total_watts, row.mean_watts + 3000, 1e-9);
    total += *row.total_joules;
  }
  ASSERT_EQ(of.power->nodes.size(), 2U);  // of eight ranks, and of four
  EXPECT_NEAR(total, *of.power->nodes_joules, 1e-6 * total);
  EXPECT_EQ(with("1kW").power->joules, of.power->joules);
  EXPECT_THAT(PredictionText(of), HasSubstr("nodes with all that is in them take"));
  EXPECT_EQ(PredictionJson(of).at("power").at("nodes_joules"), *of.power->nodes_joules);
}

TEST(Predictions, WithoutANodesRestHaveNoPowerOfNodes) {
  const Prediction of = Predict(Job("gpt-small"), {.machine = "mi300x-8"});
  ASSERT_TRUE(of.power);
  EXPECT_EQ(of.power->nodes_joules, std::nullopt);
  EXPECT_EQ(of.power->nodes.at(0).total_watts, std::nullopt);
  EXPECT_THAT(PredictionText(of), Not(HasSubstr("all that is in them")));
  const auto json = PredictionJson(of).at("power");
  EXPECT_TRUE(json.at("nodes_watts").is_null());
  EXPECT_TRUE(json.at("nodes").at(0).at("total_joules").is_null());
}

TEST(Predictions, WithoutPowerNumbersHaveNoEnergy) {
  auto machine = TargetMachine::Create({.machine = "h100-hgx"});
  ASSERT_TRUE(machine);
  machine->options.to->device.power = {};
  EXPECT_THAT(SetPower::Create("500W", false, machine->options.to).error().message,
              HasSubstr("no power numbers"));
  machine->power = *SetPower::Create("", false, machine->options.to);
  const auto predicted = PredictJob(*machine, Job("gpt-small"), {});
  ASSERT_TRUE(predicted) << predicted.error().message;
  const Prediction& of = *predicted;
  EXPECT_EQ(of.energy_joules, std::nullopt);
  EXPECT_FALSE(of.power);
  const auto json = PredictionJson(of);
  EXPECT_TRUE(json["energy_joules"].is_null());
  EXPECT_TRUE(json["power"].is_null());
  EXPECT_THAT(PredictionText(of), Not(HasSubstr("Energy")));
}

TEST(Predictions, FindTheLargestMicroBatchThatFits) {
  const Workload job = Job("gpt-small", {{"global-batch", "16"}});
  const Prediction wide = Predict(job, {.machine = "h100-hgx"}, {.largest_micro_batch = true});
  EXPECT_EQ(wide.memory->largest_micro_batch, 16);
  const std::string capacity =
      fmt::format("device.memory.capacity={}B", wide.memory->peak_bytes - 1);
  const Prediction tight =
      Predict(job, {.machine = "h100-hgx", .overrides = {capacity}}, {.largest_micro_batch = true});
  EXPECT_EQ(tight.memory->fits(), false);
  EXPECT_LT(*tight.memory->largest_micro_batch, job.micro_batch);
  EXPECT_THAT(PredictionText(tight), HasSubstr("does not fit"));
}

TEST(Predictions, AreTheSameOfOneMachineTwice) {
  const auto machine = TargetMachine::Create(
      {.machine = "h100-hgx", .slow_ranks = {"1=2"}, .flow = true, .until_steady = true});
  ASSERT_TRUE(machine) << machine.error().message;
  const Workload job = Job("mixtral-small");
  const auto first = PredictJob(*machine, job, {});
  const auto second = PredictJob(*machine, job, {});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(PredictionJson(*first), PredictionJson(*second));
}

TEST(Predictions, RefuseWhatTheyCannotUse) {
  struct Refused {
    MachineRequest request;
    ErrorKind kind;
    std::string why;
  };
  const std::vector<Refused> refused = {
      {{.machine = "h100"}, ErrorKind::kBadInput, "did you mean h100-hgx"},
      {{.machine = "recorded", .captured_on = "h100-hgx"},
       ErrorKind::kUsage,
       "leave --captured-on"},
      {{.machine = "h100-hgx", .slow_ranks = {"1"}}, ErrorKind::kUsage, "--slow"},
      {{.machine = "h100-hgx", .slow_links = {"nvlink"}}, ErrorKind::kUsage, "--link"},
      {{.machine = "h100-hgx", .power_limit = "-5W"}, ErrorKind::kUsage, "expected a power"}};
  for (const Refused& one : refused) {
    const auto machine = TargetMachine::Create(one.request);
    ASSERT_FALSE(machine) << one.why;
    EXPECT_EQ(machine.error().kind, one.kind) << one.why;
    EXPECT_THAT(machine.error().message, HasSubstr(one.why));
  }
  const auto recorded = TargetMachine::Create({.machine = "recorded"});
  ASSERT_TRUE(recorded);
  EXPECT_THAT(PredictJob(*recorded, Job("gpt-small"), {}).error().message,
              HasSubstr("a job has none"));
}

}  // namespace
}  // namespace reprise
