// Models of 2023 to 2025: parameters as published; parameters, FLOPs and the bytes of every
// transfer against closed forms over random layouts. Nothing here calls the generator's own
// arithmetic.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <string>

#include "predict/workload/job/generate.h"
#include "predict/workload/job/parse.h"
#include "tests/workload/language_forms.h"
#include "tests/workload/random_jobs.h"

namespace reprise {
namespace {

// As the models' files on Hugging Face have them (model.safetensors.index.json: bytes, by two), but
// for those with a remark.
struct Published {
  const char* preset;
  std::int64_t parameters;
};
constexpr Published kPublished[] = {
    {"llama2-7b", 6'738'415'616},
    {"llama2-13b", 13'015'864'320},
    {"llama2-70b", 68'976'648'192},
    {"llama3-8b", 8'030'261'248},
    {"llama3-70b", 70'553'706'496},
    {"llama3-405b", 405'853'388'800},
    {"llama3.2-1b", 1'235'814'400},
    {"llama3.2-3b", 3'212'749'824},
    {"qwen3-0.6b", 596'049'920},
    {"qwen3-1.7b", 1'720'574'976},
    {"qwen3-4b", 4'022'468'096},
    {"qwen3-8b", 8'190'735'360},
    {"qwen3-14b", 14'768'307'200},
    {"qwen3-32b", 32'762'123'264},
    {"qwen3-30b-a3b", 30'532'122'624},
    {"qwen3-235b-a22b", 235'093'634'560},
    {"mixtral-8x7b", 46'702'792'704},
    // 671,026,419,200 without the 58 x 256 numbers that balance the router, which are no
    // parameters; and one layer that predicts a further token, without copies of embedding and
    // head.
    {"deepseek-v3", 671'026'419'200 - 58 * 256 + 11'610'067'968},
    // arXiv 2508.10925, table 1: 20.91 and 116.83 billion.
    {"gpt-oss-20b", 20'914'757'184},
    {"gpt-oss-120b", 116'829'156'672},
    {"bloom-176b", 176'247'271'424},
};

TEST(TodaysModelPresets, HaveThePublishedParameters) {
  for (const Published& of : kPublished) {
    Workload w = *ReadWorkload(of.preset);
    CompleteWorkload(w);
    ASSERT_TRUE(CheckWorkload(w)) << of.preset << ": " << CheckWorkload(w).error().message;
    EXPECT_EQ(CountParameters(w), of.parameters) << of.preset;
  }
}

// arXiv 2402.16819: 15 billion, of which 3.2 are embedding and head; arXiv 2406.11704, table 1: 340
// billion, of which 9.4 are.
TEST(TodaysModelPresets, NemotronHasThePublishedParametersAsRounded) {
  for (const auto& [preset, all, ends] :
       {std::tuple("nemotron4-15b", 15.6e9, 3.2e9), std::tuple("nemotron4-340b", 341e9, 9.4e9)}) {
    Workload w = *ReadWorkload(preset);
    CompleteWorkload(w);
    EXPECT_NEAR(static_cast<double>(CountParameters(w)) / all, 1, 0.003);
    EXPECT_NEAR(2.0 * static_cast<double>(w.model.vocab * w.model.hidden) / ends, 1, 0.03);
  }
}

struct Kind {
  const char* name;
  const char* model;  // fields beside sizes
};
constexpr Kind kKinds[] = {
    {"dense_qwen", R"("family": "qwen3", "kv_heads": 4, "head_size": 32)"},
    {"fine_experts",
     R"("family": "qwen3", "kv_heads": 4, "head_size": 32, "experts": 16, "top_k": 4,
        "dense_layers": 1, "dense_ffn": 512)"},
    {"single_products", R"("family": "qwen3", "kv_heads": 4, "head_size": 32, "experts": 8,
        "top_k": 2, "experts_every": 2, "grouped_experts": false, "qkv_bias": true)"},
    {"latent", R"("family": "deepseek", "head_size": 32, "rotary_size": 16, "value_size": 16,
        "q_rank": 48, "kv_rank": 32, "experts": 16, "top_k": 4, "shared_ffn": 128,
        "dense_layers": 2, "dense_ffn": 512, "expert_groups": 4, "groups_per_token": 2)"},
    {"latent_without_q_rank", R"("family": "deepseek", "head_size": 32, "rotary_size": 16,
        "value_size": 16, "kv_rank": 32)"},
    {"windows", R"("family": "gpt-oss", "kv_heads": 4, "head_size": 16, "experts": 8, "top_k": 4,
        "window": 16)"},
    {"squared", R"("family": "nemotron", "kv_heads": 4, "head_size": 16, "rotary_size": 8)"},
    {"alibi", R"("family": "bloom")"},
};

class TodaysModels : public testing::TestWithParam<Kind> {
 protected:
  Workload Draw() {
    Workload w = random_.Of(GetParam().model);
    random_.DrawRecomputation(w, {"core_attn", "mlp", "moe", "shared_experts"});
    w.overlap = {random_.OneOf({0, 1}) == 1, random_.OneOf({0, 1}) == 1,
                 random_.OneOf({0, 1}) == 1};
    const char* const recipes[] = {"none", "delayed", "tensorwise", "blockwise", "mxfp8", "nvfp4"};
    w.fp8 = recipes[random_.OneOf({0, 0, 0, 1, 2, 3, 4, 5})];
    CompleteWorkload(w);
    return w;
  }
  Workload Next() {
    return RandomJobs::Sound([this] { return Draw(); });
  }
  RandomJobs random_{11};
};

TEST_P(TodaysModels, ParametersFlopsAndTransfersAreEqual) {
  for (int i = 0; i < 40; ++i) {
    const Workload w = Next();
    const Layout& l = w.layout;
    const std::string layout =
        testing::PrintToString(std::vector<std::int64_t>{
            l.tp, l.pp, l.dp, l.ep, l.fsdp ? 1 : 0, l.sequence_parallel ? 1 : 0, l.zero(),
            w.micro_batch, w.global_batch, w.recompute == Recompute::kFull ? 1 : 0}) +
        " " + w.fp8 + testing::PrintToString(w.recompute_modules);
    const auto summary = Generate({.workload = w});
    ASSERT_TRUE(summary) << summary.error().message;
    const LayerForm form{w};
    ASSERT_EQ(summary->parameters, form.Parameters()) << layout;
    ASSERT_EQ(summary->model_flops, static_cast<double>(form.ModelFlops())) << layout;
    ASSERT_EQ(BytesOf(*summary), form.Transfers()) << layout;
    if (!w.recompute_modules.empty()) {
      Workload once = w;
      once.recompute = Recompute::kNone;
      once.recompute_modules.clear();
      ASSERT_EQ(summary->executed_flops - Generate({.workload = once})->executed_flops,
                static_cast<double>(form.FlopsAgain()))
          << layout;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TodaysModels, testing::ValuesIn(kKinds),
                         [](const auto& info) { return std::string(info.param.name); });

// The distributed optimizer gathers matrices in a byte a number, and takes the largest number of
// each from all ranks; they are stored so.
TEST(ParametersInEightBits, AreGatheredInBytes) {
  RandomJobs jobs(41);
  for (int i = 0; i < 60; ++i) {
    const Workload w = jobs.Sound([&] {
      Workload drawn = jobs.Of(R"("family": "llama", "kv_heads": 4, "dtype": "bfloat16")");
      drawn.model.dtype = DType::kBFloat16;
      drawn.layout.dp = jobs.OneOf({2, 4});
      drawn.layout.distributed_optimizer = true;
      drawn.fp8 = jobs.OneOf({0, 1}) == 0 ? "delayed" : "tensorwise";
      drawn.fp8_param_gather = true;
      drawn.overlap.param = jobs.OneOf({0, 1}) == 1;
      CompleteWorkload(drawn);
      return drawn;
    });
    Workload other = w;
    other.fp8_param_gather = false;
    const auto eight = Generate({.workload = w});
    const auto sixteen = Generate({.workload = other});
    ASSERT_TRUE(eight) << eight.error().message;
    ASSERT_TRUE(sixteen) << sixteen.error().message;
    const LayerForm form{w};
    ASSERT_EQ(eight->parameters, form.Parameters());
    ASSERT_EQ(eight->model_flops, sixteen->model_flops);
    TransferBytes expected = BytesOf(*sixteen);
    const std::int64_t layers = w.model.layers;
    expected[{"all_gather", "dp"}] -= form.stage_ranks * layers * form.Matrices();
    // Four matrices a layer: queries, keys and values in one, gate and up in one.
    expected[{"all_reduce", "dp"}] += form.stage_ranks * layers * 4 * 4;
    ASSERT_EQ(BytesOf(*eight), expected);
    for (std::size_t stage = 0; stage < eight->memory.size(); ++stage) {
      ASSERT_EQ(sixteen->memory[stage].bytes.parameters - eight->memory[stage].bytes.parameters,
                layers / w.layout.pp * form.Matrices());
      ASSERT_EQ(sixteen->memory[stage].bytes.optimizer, eight->memory[stage].bytes.optimizer);
    }
  }
}

// A layer that predicts one more token: its own matrices and norms, and each pass of the head
// again.
TEST(TodaysModelPresets, FurtherTokens) {
  for (const std::int64_t stages : {1, 3}) {
    Workload w = *ReadWorkload("deepseek-small");
    w.layout.pp = stages;
    CompleteWorkload(w);
    Workload without = w;
    without.model.mtp_layers = 0;
    const auto more = Generate({.workload = w});
    const auto fewer = Generate({.workload = without});
    ASSERT_TRUE(more) << more.error().message;
    ASSERT_TRUE(fewer) << fewer.error().message;
    const LayerForm form{w};
    const ModelShape& m = w.model;
    const Elements layer = form.OfLayer(m.layers);
    const std::int64_t joined = 2 * m.hidden * m.hidden;
    EXPECT_EQ(more->parameters - fewer->parameters, layer.whole + joined + 3 * m.hidden);
    const std::int64_t tokens = w.global_batch * m.sequence;
    EXPECT_EQ(more->model_flops - fewer->model_flops,
              static_cast<double>(
                  3 * (2 * tokens * (layer.active + joined + m.vocab * m.hidden) +
                       2 * tokens * m.sequence * m.heads * (m.head_size + m.value_size))));
    if (stages > 1) {  // the embedding is at both ends, the head at one
      std::int64_t tied = 0;
      for (const TransferRow& row : more->transfers) {
        tied += row.group == "embd" ? row.sums.bytes : 0;
      }
      EXPECT_EQ(tied, 2 * w.layout.tp * w.layout.dp * m.vocab / w.layout.tp * m.hidden * 4);
    }
  }
}

}  // namespace
}  // namespace reprise
