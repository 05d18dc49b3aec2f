// Hugging Face's config.json as a model.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "predict/workload/job/generate.h"
#include "predict/workload/job/options.h"
#include "predict/workload/job/parse.h"
#include "tests/et_schema/scratch_directory.h"

namespace reprise {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Json = nlohmann::json;

const char* const kQwen3Moe =
    R"({"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe",
  "attention_bias": false, "attention_dropout": 0.0, "decoder_sparse_step": 1, "head_dim": 128,
  "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 6144,
  "max_position_embeddings": 40960, "mlp_only_layers": [], "moe_intermediate_size": 768,
  "norm_topk_prob": true, "num_attention_heads": 32, "num_experts": 128, "num_experts_per_tok": 8,
  "num_hidden_layers": 48, "num_key_value_heads": 4, "rms_norm_eps": 1e-06, "rope_scaling": null,
  "sliding_window": null, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
  "use_sliding_window": false, "vocab_size": 151936})";
const char* const kDeepseek = R"({"model_type": "deepseek_v3", "first_k_dense_replace": 3,
  "hidden_act": "silu", "hidden_size": 7168, "intermediate_size": 18432, "kv_lora_rank": 512,
  "max_position_embeddings": 163840, "moe_intermediate_size": 2048, "moe_layer_freq": 1,
  "n_group": 8, "n_routed_experts": 256, "n_shared_experts": 1, "norm_topk_prob": true,
  "num_attention_heads": 128, "num_experts_per_tok": 8, "num_hidden_layers": 61,
  "num_key_value_heads": 128, "num_nextn_predict_layers": 1, "q_lora_rank": 1536,
  "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "scoring_func": "sigmoid",
  "tie_word_embeddings": false, "topk_group": 4, "torch_dtype": "bfloat16", "v_head_dim": 128,
  "vocab_size": 129280})";
const char* const kGptOss = R"({"model_type": "gpt_oss", "attention_bias": true, "head_dim": 64,
  "hidden_act": "silu", "hidden_size": 2880, "intermediate_size": 2880,
  "layer_types": ["sliding_attention", "full_attention"], "max_position_embeddings": 131072,
  "num_attention_heads": 64, "num_experts_per_tok": 4, "num_hidden_layers": 24,
  "num_key_value_heads": 8, "num_local_experts": 32, "sliding_window": 128,
  "tie_word_embeddings": false, "vocab_size": 201088})";
const char* const kLlama = R"({"model_type": "llama", "attention_bias": false, "hidden_act": "silu",
  "hidden_size": 2048, "head_dim": 64, "intermediate_size": 8192, "max_position_embeddings": 131072,
  "mlp_bias": false, "num_attention_heads": 32, "num_hidden_layers": 16, "num_key_value_heads": 8,
  "tie_word_embeddings": true, "torch_dtype": "bfloat16", "vocab_size": 128256})";
const char* const kNemotron = R"({"model_type": "nemotron", "hidden_act": "relu2",
  "hidden_size": 6144, "intermediate_size": 24576, "max_position_embeddings": 4096,
  "num_attention_heads": 48, "num_hidden_layers": 32, "num_key_value_heads": 8,
  "partial_rotary_factor": 0.5, "tie_word_embeddings": false, "vocab_size": 256000})";
const char* const kBloom = R"({"model_type": "bloom", "n_embed": 14336, "n_layer": 70,
  "num_attention_heads": 112, "seq_length": 2048, "vocab_size": 250880})";

// The model of a preset, and of the file that it was taken from.
TEST(HuggingFaceConfig, IsTheSameModelAsThePreset) {
  for (const auto& [preset, config] :
       {std::pair("qwen3-30b-a3b", kQwen3Moe), std::pair("deepseek-v3", kDeepseek),
        std::pair("gpt-oss-20b", kGptOss), std::pair("llama3.2-1b", kLlama),
        std::pair("nemotron4-15b", kNemotron), std::pair("bloom-176b", kBloom)}) {
    Workload expected = *ReadWorkload(preset);
    auto read = ParseWorkload(config, "config.json");
    ASSERT_TRUE(read) << preset << ": " << read.error().message;
    for (Workload* w : {&expected, &*read}) {
      w->layout = {};
      w->schedule = "1f1b";
      w->virtual_stages = 1;
      w->recompute = Recompute::kNone;
      w->overlap = {};
      w->optimizer = "adam";
      w->micro_batch = w->global_batch = 1;
      w->model.sequence = 64;
      CompleteWorkload(*w);
      ASSERT_TRUE(CheckWorkload(*w)) << preset << ": " << CheckWorkload(*w).error().message;
      w->model.layers = std::min<std::int64_t>(w->model.layers, 4);
    }
    const auto one = Generate({.workload = expected});
    const auto other = Generate({.workload = *read});
    ASSERT_TRUE(one) << one.error().message;
    ASSERT_TRUE(other) << other.error().message;
    EXPECT_EQ(one->parameters, other->parameters) << preset;
    EXPECT_EQ(one->nodes, other->nodes) << preset;
    EXPECT_EQ(one->executed_flops, other->executed_flops) << preset;
  }
}

TEST(HuggingFaceConfig, OtherArchitectures) {
  struct Case {
    const char* config;
    std::int64_t parameters;  // as published
  };
  for (const Case& of :
       {Case{R"({"model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944,
               "num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4,
               "vocab_size": 152064, "hidden_act": "silu", "max_position_embeddings": 32768,
               "tie_word_embeddings": false, "use_sliding_window": false})",
             7'615'616'512},
        Case{R"({"model_type": "qwen2_moe", "hidden_size": 2048, "intermediate_size": 5632,
               "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632,
               "num_attention_heads": 16, "num_hidden_layers": 24, "num_key_value_heads": 16,
               "num_experts": 60, "num_experts_per_tok": 4, "vocab_size": 151936,
               "hidden_act": "silu", "max_position_embeddings": 8192})",
             14'315'784'192},
        Case{R"({"model_type": "deepseek_v2", "hidden_size": 2048, "intermediate_size": 10944,
               "moe_intermediate_size": 1408, "num_attention_heads": 16, "num_hidden_layers": 27,
               "first_k_dense_replace": 1, "n_routed_experts": 64, "n_shared_experts": 2,
               "num_experts_per_tok": 6, "n_group": 1, "topk_group": 1, "q_lora_rank": null,
               "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
               "v_head_dim": 128, "scoring_func": "softmax", "vocab_size": 102400,
               "hidden_act": "silu", "max_position_embeddings": 163840})",
             15'706'484'224},
        Case{R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12,
               "n_positions": 1024, "vocab_size": 50257})",
             124'439'808},
        Case{R"({"model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336,
               "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
               "vocab_size": 32000, "hidden_act": "silu", "max_position_embeddings": 32768,
               "sliding_window": 4096})",
             7'241'732'096}}) {
    auto w = ParseWorkload(of.config, "config.json");
    ASSERT_TRUE(w) << w.error().message;
    w->global_batch = 1;
    CompleteWorkload(*w);
    ASSERT_TRUE(CheckWorkload(*w)) << CheckWorkload(*w).error().message;
    EXPECT_EQ(CountParameters(*w), of.parameters) << of.config;
  }
}

std::string Refused(const Json& config) {
  const auto read = ParseWorkload(config.dump(), "config.json");
  EXPECT_FALSE(read) << config.dump();
  return read ? "" : read.error().message;
}

TEST(HuggingFaceConfig, RefusesWhatItDoesNotKnow) {
  const Json llama = Json::parse(kLlama);
  const auto with = [](Json of, const char* name, const Json& value) {
    of[name] = value;
    return of;
  };
  const auto without = [](Json of, const char* name) {
    of.erase(name);
    return of;
  };
  EXPECT_THAT(Refused(with(llama, "model_type", "lama")),
              AllOf(HasSubstr("not known"), HasSubstr("did you mean llama"), HasSubstr("gpt_oss")));
  EXPECT_THAT(Refused(without(llama, "hidden_size")), HasSubstr("\"hidden_size\" is missing"));
  EXPECT_THAT(Refused(with(llama, "hidden_size", "2048")), HasSubstr("expected a whole number"));
  EXPECT_THAT(Refused(with(llama, "hidden_act", "tanh")), HasSubstr("known are silu"));
  EXPECT_THAT(Refused(with(llama, "torch_dtype", "int8")), HasSubstr("expected bfloat16"));
  EXPECT_THAT(Refused(without(llama, "max_position_embeddings")), HasSubstr("longest sequence"));
  EXPECT_THAT(Refused(with(llama, "attention_dropout", 0.1)), HasSubstr("attention alone"));
  EXPECT_THAT(Refused(with(Json::parse(kBloom), "hidden_dropout", 0.1)),
              HasSubstr("one dropout for all"));
  const Json qwen = Json::parse(kQwen3Moe);
  EXPECT_THAT(Refused(with(qwen, "use_sliding_window", true)), HasSubstr("use_sliding_window"));
  EXPECT_THAT(Refused(with(qwen, "mlp_only_layers", Json::array({0, 5}))),
              HasSubstr("not the first ones"));
  EXPECT_THAT(Refused(with(Json::parse(kGptOss), "layer_types",
                           Json::array({"full_attention", "full_attention"}))),
              HasSubstr("by turns"));
  EXPECT_THAT(Refused(without(Json::parse(kDeepseek), "topk_group")), HasSubstr("topk_group"));
}

// transformers write some fields elsewhere since version 5.
TEST(HuggingFaceConfig, IsTheSameModelAsVersion5WritesIt) {
  const auto model_of = [](const Json& config) {
    const auto w = ParseWorkload(config.dump(), "config.json");
    EXPECT_TRUE(w) << (w ? "" : w.error().message);
    return w ? w->model : ModelShape{};
  };
  Json qwen = Json::parse(kQwen3Moe);
  const ModelShape experts = model_of(qwen);
  qwen["num_local_experts"] = qwen["num_experts"];
  qwen.erase("num_experts");
  EXPECT_EQ(model_of(qwen).experts, experts.experts);
  Json nemotron = Json::parse(kNemotron);
  const ModelShape rotary = model_of(nemotron);
  EXPECT_EQ(rotary.rotary_size, 64);  // half of 128
  nemotron.erase("partial_rotary_factor");
  nemotron["rope_parameters"] = {{"partial_rotary_factor", 0.5}, {"rope_theta", 10000.0}};
  EXPECT_EQ(model_of(nemotron).rotary_size, rotary.rotary_size);
  nemotron["rope_parameters"]["partial_rotary_factor"] = "half";
  EXPECT_THAT(Refused(nemotron), HasSubstr("rope_parameters"));
}

// Alibi has no longest sequence.
TEST(HuggingFaceConfig, ModelsWithoutPositionsTakeAnySequence) {
  Json bloom = Json::parse(kBloom);
  bloom.erase("seq_length");
  Workload w = *ParseWorkload(bloom.dump(), "config.json");
  EXPECT_EQ(w.model.sequence, 4096);
  w.global_batch = 8;
  EXPECT_THAT(EffectNotes(w)[0], HasSubstr("sequences of 4096 tokens, a batch of 8"));
}

// A layout that the model does not take is the option's fault, not the file's.
TEST(HuggingFaceConfig, OptionsThatBreakARuleAreUsageErrors) {
  const ScratchDirectory scratch;
  const std::string path = scratch.File("config.json");
  std::ofstream(path) << kQwen3Moe;
  JobOptions options = {.what = path};
  options.tp = 8;
  const auto job = MakeJob(options);
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(job.error().message, HasSubstr("does not divide 4 heads of keys and values"));
  options.tp = 4;
  EXPECT_TRUE(MakeJob(options));
}

// What a model alone leaves open is said, until an option gives it.
TEST(HuggingFaceConfig, SaysWhatItAssumes) {
  Workload w = *ParseWorkload(kLlama, "config.json");
  w.global_batch = 8;
  const auto notes = EffectNotes(w);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_THAT(notes[0], AllOf(HasSubstr("sequences of 4096 tokens (the model takes 131072)"),
                              HasSubstr("a batch of 8"), HasSubstr("--global-batch")));
  w.assumed.clear();
  EXPECT_TRUE(EffectNotes(w).empty());
}

}  // namespace
}  // namespace reprise
