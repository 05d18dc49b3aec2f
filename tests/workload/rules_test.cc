// Each rule that a description can break, and the message that names it.
#include <gmock/gmock.h>

#include <string>

#include "predict/workload/job/generate.h"
#include "predict/workload/job/parse.h"

namespace reprise {
namespace {

using testing::HasSubstr;

Workload Described(const std::string& json) {
  const auto read = ParseWorkload(json, "test");
  EXPECT_TRUE(read) << (read ? "" : read.error().message);
  Workload w = read.value_or(Workload{});
  CompleteWorkload(w);
  return w;
}

constexpr char kGpt[] =
    R"("model": {"layers": 4, "hidden": 64, "heads": 4, "vocab": 256, "sequence": 32})";
constexpr char kMoe[] =
    R"("model": {"layers": 2, "hidden": 64, "heads": 4, "vocab": 256, "sequence": 32,
                 "experts": 8, "top_k": 2})";
constexpr char kVit[] =
    R"("model": {"family": "vit", "layers": 2, "hidden": 64, "heads": 4, "image": 32, "patch": 8,
                 "classes": 16})";

struct Broken {
  std::string description, rule;
};

class BrokenRules : public testing::TestWithParam<Broken> {};

TEST_P(BrokenRules, AreNamed) {
  const auto& [description, rule] = GetParam();
  const Workload w = Described(description);
  const Status checked = CheckWorkload(w);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(checked.error().message, HasSubstr(rule));
  // Nothing is generated of it, either.
  const auto summary = Generate({.workload = w});
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().message, checked.error().message);
}

std::string Gpt(const std::string& rest) { return "{" + std::string(kGpt) + ", " + rest + "}"; }
std::string Moe(const std::string& rest) { return "{" + std::string(kMoe) + ", " + rest + "}"; }
std::string Vit(const std::string& rest) { return "{" + std::string(kVit) + ", " + rest + "}"; }
const char kBatch[] = R"("batch": {"global": 8, "micro": 2})";

INSTANTIATE_TEST_SUITE_P(
    Rules, BrokenRules,
    testing::Values(
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"tp": 3})"),
               "tensor parallelism of 3 does not divide 4 attention heads"},
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"dp": 3})"),
               "a global batch of 8 is not a multiple of 6"},
        Broken{Gpt(R"("batch": {"global": 8, "micro": 3})"), "is not a multiple of 3"},
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"pp": 5})"),
               "5 stages of a pipeline, but 4 layers"},
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"pp": 3})"),
               "4 layers do not divide among 3 stages"},
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"pp": 2, "layers_per_stage": [2, 3]})"),
               "\"layers_per_stage\" adds up to 5"},
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"pp": 1, "layers_per_stage": [1, 2]})"),
               "\"layers_per_stage\" has 2 numbers; expected 1"},
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"pp": 1, "layers_per_stage": [3, 1]})"),
               "\"layers_per_stage\" has 2 numbers; expected 1"},
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"tp": 0})"),
               "\"layout.tp\" is 0; expected 1 to"},
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"pp": -4})"), "\"layout.pp\" is -4"},
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"dp": 4611686018427387904})"),
               "\"layout.dp\" is 4611686018427387904; expected 1 to"},
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"dp": 2000000})"),
               "at most 1048576 without --limits ranks="},
        Broken{Gpt(R"("batch": {"global": 0, "micro": 1})"), "\"batch.global\" is 0"},
        Broken{Gpt(R"("batch": {"global": 8, "micro": -1})"), "\"batch.micro\" is -1"},
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"ep": 2, "dp": 2})"),
               "expert parallelism of 2 needs a model with experts"},
        Broken{Moe(std::string(kBatch) + R"(, "layout": {"ep": 3, "dp": 4})"),
               "expert parallelism of 3 does not divide 8 experts"},
        Broken{Moe(std::string(kBatch) + R"(, "layout": {"ep": 8, "dp": 4})"),
               "does not divide data parallelism of 4"},
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"cp": 3})"),
               "context parallelism of 3 does not divide 32"},
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"sequence_parallel": true})"),
               "sequence parallelism needs tensor parallelism"},
        Broken{Gpt(std::string(kBatch) +
                   R"(, "layout": {"dp": 2, "fsdp": true, "distributed_optimizer": true})"),
               "\"fsdp\" divides the optimizer's states already"},
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"dp": 2, "pp": 2, "fsdp": true})"),
               "needs \"tied_embeddings\": false"},
        Broken{Gpt(std::string(kBatch) + R"(, "schedule": "interleaved:2")"),
               "schedule \"interleaved\" needs pipeline parallelism"},
        Broken{Gpt(R"("batch": {"global": 6, "micro": 2}, "layout": {"pp": 2},
                      "schedule": "interleaved:2")"),
               "takes a multiple of 2 micro-batches"},
        Broken{R"({"model": {"layers": 2, "hidden": 60, "heads": 7, "vocab": 256, "sequence": 32},
                   "batch": {"global": 8, "micro": 2}})",
               "\"heads\" of 7 does not divide \"hidden\" of 60"},
        Broken{R"({"model": {"layers": 2, "hidden": 0, "heads": 4, "vocab": 256, "sequence": 32},
                   "batch": {"global": 8, "micro": 2}})",
               "\"hidden\" is 0; expected 1 to"},
        Broken{R"({"model": {"layers": 2, "hidden": 4096, "heads": 32, "vocab": 256,
                             "sequence": 2000000000}, "batch": {"global": 8, "micro": 2}})",
               "more than 2^63 FLOPs"},
        Broken{Vit(std::string(kBatch) + R"(, "layout": {"cp": 2})"),
               "a transformer of images has no context parallelism"},
        Broken{Gpt(std::string(kBatch) + R"(, "schedule": "zb-h1")"),
               "fills the bubble of a pipeline, and needs one"},
        Broken{Gpt(std::string(kBatch) +
                   R"(, "layout": {"pp": 2, "dp": 2}, "schedule": "zb-h1", "overlap": ["grad"])"),
               "schedule \"zb-h1\" has no \"overlap\", and grad is given"},
        // Two rules: the first is named.
        Broken{Gpt(R"("batch": {"global": 7, "micro": 2}, "layout": {"tp": 3})"),
               "does not divide 4 attention heads"}));

// A model's fields beside its sizes, and what follows the model.
std::string Fields(const std::string& fields, const std::string& rest = "") {
  return R"({"model": {"layers": 4, "hidden": 64, "heads": 4, "ffn": 128, "vocab": 64, "sequence": 32, )" +
         fields + R"(}, "batch": {"global": 8, "micro": 1})" + rest + "}";
}

std::string Packed(const std::string& fields, const std::string& documents,
                   const std::string& rest = "") {
  return R"({"model": {"layers": 4, "hidden": 64, "heads": 4, "ffn": 128, "vocab": 64, "sequence": 32, )" +
         fields + R"(}, "batch": {"global": 8, "micro": 1, "documents": )" + documents + "}" +
         rest + "}";
}

INSTANTIATE_TEST_SUITE_P(
    TodaysModels, BrokenRules,
    testing::Values(
        Broken{Fields(R"("family": "gpt", "window": 4, "causal": false)"),
               "\"window\" needs \"causal\""},
        Broken{Fields(R"("family": "gpt", "full_attention_every": 2)"), "there is no \"window\""},
        Broken{Fields(R"("family": "gpt", "alibi": true)"),
               "\"alibi\" needs \"fused_attention\": false"},
        Broken{Fields(R"("family": "bloom", "rotary": true)"), "\"rotary\" or \"alibi\", not both"},
        Broken{Fields(R"("family": "gpt", "fused_attention": false, "sinks": true)"),
               "\"sinks\" need \"fused_attention\""},
        Broken{Fields(R"("family": "llama", "rotary_size": 32)"),
               "\"rotary_size\" of 32 is above the \"head_size\" of 16"},
        Broken{Fields(R"("family": "llama", "rotary_size": 7)"), "even number of features, not 7"},
        Broken{Fields(R"("family": "llama", "q_rank": 8)"), "\"q_rank\" is of latent attention"},
        Broken{Fields(R"("family": "llama", "value_size": 8)"),
               "\"value_size\" is of latent attention"},
        Broken{Fields(R"("family": "deepseek", "kv_rank": 8)"),
               "needs \"rotary\", \"rotary_size\""},
        Broken{Fields(R"("family": "deepseek", "kv_rank": 8, "rotary_size": 4, "value_size": 8,
                         "kv_heads": 2)"),
               "as many heads of keys and values"},
        Broken{Fields(R"("family": "deepseek", "kv_rank": 8, "rotary_size": 4, "value_size": 8)",
                      R"(, "layout": {"cp": 2})"),
               "latent attention (\"kv_rank\") is not known of it, but of \"cp_comm_type\" a2a"},
        Broken{Fields(R"("family": "gpt-oss", "window": 4, "experts": 4, "top_k": 2)",
                      R"(, "layout": {"cp": 2})"),
               "of a model with \"sinks\" is not known"},
        Broken{Fields(R"("family": "llama", "window": 4)", R"(, "layout": {"cp": 2})"),
               "\"window\" is not known of it, but of \"cp_comm_type\" all_gather and a2a"},
        Broken{Fields(R"("family": "llama", "fused_attention": false)",
                      R"(, "layout": {"cp": 2, "cp_comm_type": "all_gather"})"),
               "context parallelism by all_gather needs \"fused_attention\""},
        Broken{Fields(R"("family": "llama")", R"(, "layout": {"cp": 32})"),
               "into 2 x 32 chunks, of which each rank has two; 32 tokens do not divide among 64"},
        Broken{Fields(R"("family": "llama", "kv_heads": 2)",
                      R"(, "layout": {"cp": 2, "tp": 2, "cp_comm_type": "a2a"})"),
               "\"kv_heads\" 2 / tp 2 = 1 do not divide; \"cp_comm_type\" all_gather and p2p"},
        Broken{Fields(R"("family": "llama")", R"(, "layout": {"cp": 8, "cp_comm_type": "a2a"})"),
               "\"heads\" 4 / tp 1 = 4 do not divide"},
        Broken{Fields(R"("family": "llama", "shared_ffn": 64)"),
               "\"shared_ffn\" is of models with experts"},
        Broken{Fields(R"("family": "llama", "dense_layers": 1)"),
               "\"dense_layers\" is of models with experts"},
        Broken{Fields(R"("family": "qwen3", "experts": 4, "top_k": 2, "dense_layers": 5)"),
               "\"dense_layers\" is 5; the model has 4 layers"},
        Broken{Fields(R"("family": "qwen3", "experts": 4, "top_k": 2, "shared_gate": true)"),
               "\"shared_gate\" is given, and \"shared_ffn\" is 0"},
        Broken{Fields(R"("family": "qwen3", "experts": 4, "top_k": 2, "expert_groups": 2)"),
               "\"groups_per_token\" go together"},
        Broken{Fields(R"("family": "qwen3", "experts": 4, "top_k": 2, "expert_groups": 3,
                         "groups_per_token": 1)"),
               "\"expert_groups\" of 3 does not divide 4 experts"},
        Broken{Fields(R"("family": "qwen3", "experts": 4, "top_k": 2, "expert_groups": 4,
                         "groups_per_token": 1)"),
               "do not fit 4 groups of 1 experts"},
        Broken{Fields(R"("family": "qwen3", "experts": 4, "top_k": 2, "shared_ffn": 30)",
                      R"(, "layout": {"tp": 4})"),
               "does not divide 30 columns of the shared experts"},
        Broken{Fields(R"("family": "llama", "mtp_layers": 1)",
                      R"(, "layout": {"pp": 2, "dp": 2, "fsdp": true})"),
               "needs \"mtp_layers\": 0"},
        Broken{Fields(R"("family": "llama")", R"(, "layout": {"dp": 4, "shards": 2})"),
               "\"shards\" is of \"fsdp\""},
        Broken{Fields(R"("family": "llama")",
                      R"(, "layout": {"dp": 2, "zero": 1}, "fp8": "mxfp8",
                         "fp8_param_gather": true)"),
               "\"fp8\" is delayed or tensorwise, not mxfp8"},
        Broken{Fields(R"("family": "llama")",
                      R"(, "layout": {"dp": 2}, "fp8": "delayed", "fp8_param_gather": true)"),
               "is of the distributed optimizer"},
        Broken{Packed(R"("family": "llama")", "[16, 15]"),
               "\"documents\" add up to 31 tokens; a sequence has 32"},
        Broken{Packed(R"("family": "llama")", "[16, 16]", R"(, "layout": {"cp": 2})"),
               "\"cp_comm_type\" a2a leaves them whole"},
        Broken{Packed(R"("family": "gpt-oss", "experts": 4, "top_k": 2, "window": 8)", "[32]"),
               "\"sinks\" is not known of it"},
        Broken{Packed(R"("family": "llama")", "[16, 0, 16]"), "\"documents\" is 0"},
        Broken{Fields(R"("family": "llama")",
                      R"(, "layout": {"pp": 2, "dp": 2, "zero": 2}, "schedule": "zb-h1")"),
               "\"zero\" 2 scatters them within it"},
        Broken{
            Fields(R"("family": "llama")", R"(, "layout": {"dp": 4, "fsdp": true, "shards": 3})"),
            "\"shards\" of 3 does not divide data parallelism of 4"},
        Broken{Fields(R"("family": "qwen3", "experts": 4, "top_k": 2)",
                      R"(, "layout": {"dp": 4, "ep": 2, "fsdp": true, "shards": 2})"),
               "\"shards\" and expert parallelism both divide"},
        Broken{Fields(R"("family": "llama", "dtype": "float32")", R"(, "fp8": "delayed")"),
               "needs \"dtype\" bfloat16, not float32"},
        Broken{Fields(R"("family": "llama")", R"(, "fp8": "mxfp8", "layout": {"cp": 4})"),
               "multiples of 16; \"tokens of a micro-batch\" is 8"},
        Broken{Fields(R"("family": "llama")", R"(, "fp8": "nvfp4", "layout": {"cp": 2})"),
               "multiples of 32; \"tokens of a micro-batch\" is 16"},
        Broken{Fields(R"("family": "deepseek", "head_size": 24, "rotary_size": 8, "value_size": 16,
                         "kv_rank": 16, "q_rank": 24)",
                      R"(, "fp8": "blockwise")"),
               "multiples of 16; \"q_rank\" is 24"},
        Broken{
            Fields(R"("family": "vit", "image": 32, "patch": 8, "classes": 10, "mtp_layers": 1)"),
            "\"mtp_layers\" is of language models, and the family is vit"},
        Broken{Fields(R"("family": "dlrm", "tables": [10], "dense_features": 4, "kv_rank": 1)"),
               "\"kv_rank\" is of language models, and the family is dlrm"},
        Broken{Fields(R"("family": "llama")", R"(, "recompute_layers": 1)"),
               "\"recompute_layers\" is of \"recompute\": \"full\""}));

}  // namespace
}  // namespace reprise
