// Activation memory, summed from the storages of the nodes, against the table of arXiv 2205.05198
// (equations 1 to 6, table 2); experts' tokens; rules.
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "predict/workload/job/generate.h"
#include "predict/workload/job/parse.h"
#include "predict/workload/routing.h"

namespace reprise {
namespace {

using testing::HasSubstr;

struct Case {
  std::int64_t t, p, v, b;
  bool sequence_parallel;
  Recompute recompute;
  std::vector<std::string> modules = {};
};

Workload MakeGpt22(const Case& c) {
  Workload w = *ReadWorkload("megatron-22b");
  w.layout.tp = c.t;
  w.layout.pp = c.p;
  w.layout.sequence_parallel = c.sequence_parallel;
  w.recompute = c.recompute;
  w.recompute_modules = c.modules;
  w.micro_batch = c.b;
  w.global_batch = c.b * 2 * c.p;
  w.schedule = c.v > 1 ? "interleaved" : "1f1b";
  w.virtual_stages = c.v;
  CompleteWorkload(w);
  return w;
}

double Table(const Case& c) {
  const double s = 2048;
  const double h = 6144;
  const double q = 5 * 64 * s / h;
  const double sbh = s * static_cast<double>(c.b) * h;
  const auto t = static_cast<double>(c.t);
  if (c.recompute == Recompute::kFull) {
    return 2 * sbh / (c.sequence_parallel ? t : 1);
  }
  const auto has = [&c](const char* module) {
    return std::find(c.modules.begin(), c.modules.end(), module) != c.modules.end();
  };
  const bool core = c.recompute == Recompute::kSelective && (c.modules.empty() || has("core_attn"));
  const double attention = core ? 0 : q;
  // Section 4.1: of the block's 19 sbh its input and the dropout's mask stay.
  const double block = has("mlp") ? 16 : 0;
  return c.sequence_parallel ? sbh * (34 - block + attention) / t
                             : sbh * (10 + (24 - block) / t + attention / t);
}

class Activations : public testing::TestWithParam<Case> {};

TEST_P(Activations, OfTheFirstStageAreThoseOfAllLayers) {
  const Case c = GetParam();
  const auto summary = Generate({.workload = MakeGpt22(c)});
  ASSERT_TRUE(summary) << summary.error().message;
  const auto p = static_cast<double>(c.p);
  const double interleaved = c.v > 1 ? 1 + (p - 1) / (p * static_cast<double>(c.v)) : 1;
  const double expected = 48 * Table(c) * interleaved;
  EXPECT_NEAR(static_cast<double>(summary->memory[0].bytes.layer_activations) / expected, 1, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, Activations,
    testing::Values(
        Case{1, 1, 1, 1, false, Recompute::kNone}, Case{8, 1, 1, 4, false, Recompute::kNone},
        Case{8, 1, 1, 4, true, Recompute::kNone}, Case{8, 1, 1, 4, true, Recompute::kSelective},
        Case{4, 1, 1, 1, false, Recompute::kSelective}, Case{8, 1, 1, 4, false, Recompute::kFull},
        Case{8, 8, 1, 1, true, Recompute::kNone}, Case{2, 4, 1, 2, true, Recompute::kSelective},
        Case{8, 8, 3, 1, true, Recompute::kNone}, Case{8, 4, 2, 1, true, Recompute::kSelective},
        Case{8, 1, 1, 4, true, Recompute::kSelective, {"mlp"}},
        Case{4, 2, 1, 1, false, Recompute::kSelective, {"mlp"}},
        Case{8, 8, 3, 1, true, Recompute::kSelective, {"core_attn", "mlp"}}));

TEST(Memory, ParametersGradientsAndStatesAre18BytesAParameter) {
  for (const std::int64_t zero : {0, 1, 2}) {
    const bool divided = zero > 0;
    Workload w = *ReadWorkload("llama3-8b");
    ASSERT_TRUE(SetZero(zero, w.layout));
    w.layout.pp = 1;
    w.layout.tp = 1;
    w.layout.sequence_parallel = false;
    w.model.layers = 2;
    w.global_batch = 4;
    CompleteWorkload(w);
    const auto summary = Generate({.workload = w});
    ASSERT_TRUE(summary) << summary.error().message;
    const MemorySums& m = summary->memory[0].bytes;
    const std::int64_t parameters = summary->parameters;
    EXPECT_EQ(m.parameters, 2 * parameters);
    EXPECT_EQ(m.gradients, 4 * parameters / (zero == 2 ? 4 : 1));
    EXPECT_EQ(m.optimizer, 12 * parameters / (divided ? 4 : 1));
  }
  Workload w = *ReadWorkload("llama3-8b");
  w.layout = {.dp = 8, .fsdp = true};
  w.model.layers = 2;
  w.global_batch = 8;
  CompleteWorkload(w);
  const auto summary = Generate({.workload = w});
  ASSERT_TRUE(summary) << summary.error().message;
  const MemorySums& m = summary->memory[0].bytes;
  EXPECT_EQ(m.parameters + m.gradients + m.optimizer, 18 * summary->parameters / 8);
}

// Megatron's --recompute-num-layers with the method block.
TEST(Activations, RecomputedLayersAreTheFirstOfEachChunk) {
  const auto with = [](Recompute recompute, std::int64_t layers) {
    Workload w = *ReadWorkload("gpt-small");  // 4 layers in two stages
    w.recompute = recompute;
    w.recompute_layers = layers;
    CompleteWorkload(w);
    return *Generate({.workload = w});
  };
  const GenerateSummary none = with(Recompute::kNone, 0);
  const GenerateSummary one = with(Recompute::kFull, 1);
  const GenerateSummary all = with(Recompute::kFull, 0);
  EXPECT_EQ(with(Recompute::kFull, 2).executed_flops, all.executed_flops);
  EXPECT_EQ(2 * (one.executed_flops - none.executed_flops),
            all.executed_flops - none.executed_flops);
  EXPECT_GT(all.executed_flops, none.executed_flops);
  for (std::size_t stage = 0; stage < 2; ++stage) {
    EXPECT_LT(one.memory[stage].bytes.activations, none.memory[stage].bytes.activations);
    EXPECT_GT(one.memory[stage].bytes.activations, all.memory[stage].bytes.activations);
  }
}

// Parameters, gradients and states of a rank are those of its shard; replicas are alike.
TEST(Activations, ShardsAreOfAGroupOfRanks) {
  const auto parameters = [](std::int64_t dp, std::int64_t shards) {
    Workload w = *ReadWorkload("gpt-small");
    w.layout = {.dp = dp, .fsdp = true, .shards = shards};
    w.global_batch = 2 * dp;
    CompleteWorkload(w);
    const GenerateSummary summary = *Generate({.workload = w});
    EXPECT_EQ(summary.classes, 1);
    const MemorySums& bytes = summary.memory[0].bytes;
    EXPECT_EQ(bytes.gradients, bytes.parameters);  // float32, both
    EXPECT_NEAR(static_cast<double>(bytes.optimizer), 2.0 * static_cast<double>(bytes.parameters),
                1e-3 * static_cast<double>(bytes.parameters));
    return bytes.parameters;
  };
  EXPECT_EQ(parameters(8, 2), parameters(2, 0));
  EXPECT_EQ(parameters(8, 4), parameters(4, 0));
  EXPECT_EQ(parameters(8, 8), parameters(8, 0));
}

TEST(Routing, KeepsTokensAndCapacity) {
  Workload w = *ReadWorkload("mixtral-8x7b");
  CompleteWorkload(w);
  const auto sum = [](const std::vector<std::int64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  };
  EXPECT_THAT(TokensOfExperts(w, 4096, 0, 0), testing::Each(1024));
  ASSERT_TRUE(SetRouting("zipf:1.2", w));
  const auto uneven = TokensOfExperts(w, 4096, 3, 1);
  EXPECT_EQ(sum(uneven), 8192);
  EXPECT_THAT(uneven, testing::Each(testing::AllOf(testing::Gt(0), testing::Le(4096))));
  EXPECT_EQ(TokensOfExperts(w, 4096, 3, 1), uneven);
  EXPECT_NE(TokensOfExperts(w, 4096, 4, 1), uneven);
  w.routing.seed = 5;
  EXPECT_NE(TokensOfExperts(w, 4096, 3, 1), uneven);
  w.model.capacity_factor = 1.25;
  EXPECT_THAT(TokensOfExperts(w, 4096, 3, 1), testing::Each(1280));
  w.model.drop_tokens = true;
  EXPECT_THAT(TokensOfExperts(w, 4096, 3, 1), testing::Each(testing::Le(1280)));
  EXPECT_LT(sum(TokensOfExperts(w, 4096, 3, 1)), 8192);
}

TEST(Routing, UnevenExpertsSplitClasses) {
  Workload w = *ReadWorkload("mixtral-small");
  CompleteWorkload(w);
  EXPECT_EQ(PlanRanks(w).classes.size(), 1);
  ASSERT_TRUE(SetRouting("zipf:1", w));
  EXPECT_EQ(PlanRanks(w).classes.size(), 4);
}

TEST(Descriptions, NameTheNearestFieldAndPreset) {
  EXPECT_THAT(ParseWorkload(R"({"model": {"layer": 3}})", "a.json").error().message,
              HasSubstr("a.json: \"model\" has no field \"layer\"; did you mean layers?"));
  EXPECT_THAT(ParseWorkload(R"({"batch": {"global": 1.5}})", "a").error().message,
              HasSubstr("\"global\" is 1.5; expected a whole number"));
  EXPECT_THAT(ParseWorkload(R"({"model": {"family": "lama"}})", "a").error().message,
              HasSubstr("did you mean llama?"));
  EXPECT_THAT(ParseWorkload("{", "a").error().message, HasSubstr("a: "));
  EXPECT_THAT(ReadWorkload("llama3-7b").error().message, HasSubstr("did you mean llama3-8b?"));
}

TEST(Presets, AreValidAndHaveTheirPublishedSizes) {
  const std::map<std::string, double> published = {
      {"gpt3-13b", 12.9e9},       {"gpt3-175b", 174.6e9},    {"llama3-8b", 8.03e9},
      {"llama3-70b", 70.55e9},    {"llama3-405b", 405.85e9}, {"mixtral-8x7b", 46.7e9},
      {"mixtral-8x22b", 140.6e9}, {"megatron-22b", 22.07e9}, {"megatron-530b", 529.6e9},
      {"megatron-1t", 1008e9},    {"vit-large", 304.33e6}};
  for (const Preset& preset : BuiltinPresets()) {
    Workload w = *ReadWorkload(std::string(preset.name));
    CompleteWorkload(w);
    const Status checked = CheckWorkload(w);
    ASSERT_TRUE(checked) << preset.name << ": " << checked.error().message;
    const auto size = published.find(w.name);
    if (size != published.end()) {
      EXPECT_NEAR(static_cast<double>(CountParameters(w)) / size->second, 1, 5e-3) << preset.name;
    }
  }
}

}  // namespace
}  // namespace reprise
