// Which jobs may have low-rank adapters, and the options that give them.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "predict/workload/job/generate.h"
#include "predict/workload/job/options.h"
#include "predict/workload/job/parse.h"

namespace reprise {
namespace {

using testing::HasSubstr;

struct LoraRule {
  const char* lora;
  const char* model;  // fields beside sizes
  const char* rest;
  const char* message;
};

class LoraRules : public testing::TestWithParam<LoraRule> {};

TEST_P(LoraRules, AreNamed) {
  const LoraRule& of = GetParam();
  const auto read = ParseWorkload(
      std::string(R"({"model": {"layers": 4, "hidden": 64, "heads": 4, "ffn": 128, "vocab": 64,
                      "sequence": 32, )") +
          of.model + R"(}, "batch": {"global": 8, "micro": 1}, "lora": )" + of.lora + of.rest + "}",
      "test");
  Status checked;
  if (read) {
    Workload w = *read;
    CompleteWorkload(w);
    checked = CheckWorkload(w);
  } else {
    checked = BadInput(read.error().message);
  }
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(checked.error().message, HasSubstr(of.message));
}

constexpr char kLoraLlama[] = R"("family": "llama")";
INSTANTIATE_TEST_SUITE_P(
    All, LoraRules,
    testing::Values(
        LoraRule{R"({"rank": 0})", kLoraLlama, "", "\"lora.rank\" is 0; expected 1 to 64"},
        LoraRule{R"({})", kLoraLlama, "", "\"lora.rank\" is 0"},
        LoraRule{R"({"rank": 65})", kLoraLlama, "", "\"lora.rank\" is 65; expected 1 to 64"},
        LoraRule{R"({"rank": 1.5})", kLoraLlama, "", "expected a whole number"},
        LoraRule{R"({"rank": 4, "alpha": 8})", kLoraLlama, "", "\"lora\" has no field \"alpha\""},
        LoraRule{R"({"rank": 4, "dropout": 1})", kLoraLlama, "", "\"dropout\" is 1"},
        LoraRule{R"({"rank": 4, "targets": []})", kLoraLlama, "", "nothing would be trained"},
        LoraRule{R"({"rank": 4, "targets": ["q_porj"]})", kLoraLlama, "", "did you mean q_proj?"},
        LoraRule{R"({"rank": 4, "targets": "q_proj"})", kLoraLlama, "", "expected a list of"},
        LoraRule{R"({"rank": 4, "targets": ["qkv_proj", "linear_v"]})", kLoraLlama, "",
                 "linear_v is a part of linear_qkv, give one"},
        LoraRule{R"({"rank": 4, "targets": ["gate_proj"]})", R"("family": "nemotron")", "",
                 "\"gated_ffn\" is false; take linear_fc1"},
        LoraRule{R"({"rank": 4})", R"("family": "mixtral")", "",
                 "linear_fc1, which is a matrix of each expert"},
        LoraRule{R"({"rank": 4, "targets": ["down_proj"]})", R"("family": "mixtral")", "",
                 "known are linear_qkv"},
        LoraRule{R"({"rank": 4})",
                 R"("family": "deepseek", "kv_rank": 8, "rotary_size": 4, "value_size": 8)", "",
                 "of latent attention (\"kv_rank\") linear_proj is known"},
        LoraRule{R"({"rank": 4})", R"("family": "vit", "image": 32, "patch": 8, "classes": 8)", "",
                 "\"lora\" is of language models, and the family is vit"},
        LoraRule{R"({"rank": 4})",
                 R"("family": "dlrm", "tables": [10], "dense_features": 4, "lookups": 1,
                     "bottom_mlp": [64], "top_mlp": [1])",
                 "", "\"lora\" is of language models, and the family is dlrm"},
        LoraRule{R"({"rank": 2})", kLoraLlama, R"(, "layout": {"tp": 4})",
                 "tensor parallelism of 4 does not divide \"lora.rank\" of 2"},
        LoraRule{R"({"rank": 4, "targets": ["o_proj"]})",
                 R"("family": "llama", "head_size": 16, "hidden": 66)", R"(, "layout": {"tp": 4})",
                 "does not divide \"hidden\" of 66"},
        LoraRule{R"({"rank": 4})", kLoraLlama,
                 R"(, "layout": {"tp": 2, "sequence_parallel": true}, "overlap": ["tp"])",
                 "\"overlap\" has tp, which is not known of layers with adapters"},
        LoraRule{R"({"rank": 4})", kLoraLlama,
                 R"(, "layout": {"pp": 2, "layers_per_stage": [0, 4]})",
                 "a stage without layers"}));

TEST(LoraOptions, GoOverTheDescription) {
  JobOptions options{.what = "llama2-7b"};
  options.lora = 4;
  auto job = MakeJob(options);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->lora->targets,
            (std::vector<std::string>{"linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"}));
  options.lora_targets = {"v_proj", "q_proj"};
  job = MakeJob(options);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->lora, (Lora{.rank = 4, .targets = {"linear_q", "linear_v"}}));
  EXPECT_THAT(SourceText(*job), HasSubstr("LoRA 4 of linear_q, linear_v"));
  options.lora = 5000;
  const auto refused = MakeJob(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(refused.error().message, HasSubstr("--lora is 5000; expected 1 to 4096"));
  options.lora.reset();
  const auto without = DescribeJob(options);
  ASSERT_TRUE(without);
  EXPECT_FALSE(without->lora);
  EXPECT_THAT(CheckEffects(options, *without).error().message, HasSubstr("give --lora, too"));
  // A rank alone keeps the description's targets.
  JobOptions mlperf{.what = "llama2-70b-lora"};
  mlperf.lora = 32;
  job = MakeJob(mlperf);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->lora,
            (Lora{.rank = 32, .targets = {"linear_qkv", "linear_proj"}, .dropout = 0.1}));
}

}  // namespace
}  // namespace reprise
