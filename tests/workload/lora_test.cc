// Low-rank adapters beside frozen weights: what is trained, computed, sent and kept, against closed
// forms over random layouts.
#include <gmock/gmock.h>

#include <string>
#include <tuple>

#include "predict/workload/job/generate.h"
#include "predict/workload/job/parse.h"
#include "tests/workload/lora_forms.h"
#include "tests/workload/random_jobs.h"

namespace reprise {
namespace {

Workload PresetWith(const char* preset, std::int64_t rank,
                    const std::vector<std::string>& targets) {
  Workload w = *ReadWorkload(preset);
  w.overlap.tp = false;
  w.lora = Lora{.rank = rank};
  EXPECT_TRUE(SetLoraTargets(targets, *w.lora));
  CompleteWorkload(w);
  return w;
}

// By hand: r (inputs + outputs) for each matrix.
TEST(Lora, TrainsAsManyNumbersAsPublished) {
  for (const auto& [preset, rank, targets, trained] :
       {// MLPerf's: 80 layers, of 8192 to 10240 and back to 8192.
        std::tuple("llama2-70b", 16, std::vector<std::string>{"qkv_proj", "o_proj"},
                   std::int64_t{80 * 16 * (8192 + 10240 + 8192 + 8192)}),
        // peft's default for Llama.
        std::tuple("llama2-7b", 8, std::vector<std::string>{"q_proj", "v_proj"},
                   std::int64_t{4'194'304}),
        // All seven matrices of a layer.
        std::tuple("llama2-7b", 16,
                   std::vector<std::string>{"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj",
                                            "up_proj", "down_proj"},
                   std::int64_t{39'976'960})}) {
    const Workload w = PresetWith(preset, rank, targets);
    ASSERT_TRUE(CheckWorkload(w)) << CheckWorkload(w).error().message;
    Workload without = w;
    without.lora.reset();
    EXPECT_EQ(CountTrainableParameters(w), trained) << preset;
    EXPECT_EQ(CountParameters(w), CountParameters(without) + trained) << preset;
    EXPECT_EQ(CountTrainableParameters(without), CountParameters(without)) << preset;
  }
  Workload mlperf = *ReadWorkload("llama2-70b-lora");
  CompleteWorkload(mlperf);
  EXPECT_EQ(CountTrainableParameters(mlperf), 44'564'480);
}

struct LoraKind {
  const char* name;
  const char* model;
  std::vector<std::vector<std::string>> targets;  // sets of them
};
const std::vector<std::vector<std::string>> kDenseTargets = {
    {"linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"},
    {"linear_qkv", "linear_proj"},
    {"q_proj", "v_proj"},
    {"q_proj"},
    {"linear_v", "linear_fc2"},
    {"linear_proj"},
    {"linear_fc1"},
    {"linear_fc2"}};
std::vector<std::vector<std::string>> WithHalves() {
  std::vector<std::vector<std::string>> targets = kDenseTargets;
  targets.push_back({"gate_proj"});
  targets.push_back({"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"});
  return targets;
}
const LoraKind kLoraKinds[] = {
    {"llama", R"("family": "llama", "kv_heads": 4)", WithHalves()},
    {"apart", R"("family": "llama", "kv_heads": 4, "fused_qkv": false)", WithHalves()},
    {"qwen", R"("family": "qwen3", "kv_heads": 4, "head_size": 32)", WithHalves()},
    {"nemotron", R"("family": "nemotron", "kv_heads": 4, "rotary_size": 8)", kDenseTargets},
    {"bloom", R"("family": "bloom")", kDenseTargets},
    {"experts",
     R"("family": "qwen3", "kv_heads": 4, "head_size": 32, "experts": 16, "top_k": 4,
                   "dense_layers": 1, "dense_ffn": 512)",
     {{"linear_qkv", "linear_proj"}, {"linear_proj"}, {"q_proj"}}},
    {"single_experts",
     R"("family": "mixtral", "kv_heads": 4)",
     {{"linear_qkv", "linear_proj"}, {"linear_v"}}},
    {"latent",
     R"("family": "deepseek", "head_size": 32, "rotary_size": 16, "value_size": 16,
                  "q_rank": 48, "kv_rank": 32)",
     {{"linear_proj"}, {"linear_proj", "linear_fc1", "linear_fc2"}, {"linear_fc2"}}}};

class LoraLayouts : public testing::TestWithParam<LoraKind> {
 protected:
  Workload Draw() {
    Workload w = random_.Of(GetParam().model);
    w.lora =
        Lora{.rank = random_.OneOf({2, 4, 8, 16}), .dropout = random_.OneOf({0, 1}) == 0 ? 0 : 0.1};
    EXPECT_TRUE(SetLoraTargets(
        GetParam().targets[static_cast<std::size_t>(random_.OneOf({0, 1, 2, 3, 4, 5})) %
                           GetParam().targets.size()],
        *w.lora));
    random_.DrawRecomputation(w, {"core_attn", "mlp", "moe"});
    w.overlap = {w.layout.tp == 1, random_.OneOf({0, 1}) == 1, random_.OneOf({0, 1}) == 1};
    const char* const recipes[] = {"none", "delayed", "blockwise"};
    w.fp8 = recipes[random_.OneOf({0, 0, 1, 2})];
    CompleteWorkload(w);
    return w;
  }
  Workload Next() {
    return RandomJobs::Sound([this] { return Draw(); });
  }
  RandomJobs random_{17};
};

std::string LayoutOf(const Workload& w) {
  const Layout& l = w.layout;
  return testing::PrintToString(
             std::vector<std::int64_t>{l.tp, l.pp, l.dp, l.ep, l.sequence_parallel ? 1 : 0,
                                       l.zero(), w.micro_batch, w.global_batch, w.lora->rank}) +
         testing::PrintToString(w.lora->targets) + w.fp8 + " " + std::string(Name(w.recompute)) +
         testing::PrintToString(w.recompute_modules);
}

TEST_P(LoraLayouts, ParametersFlopsAndTransfersAreEqual) {
  for (int i = 0; i < 60; ++i) {
    const Workload w = Next();
    const auto summary = Generate({.workload = w});
    ASSERT_TRUE(summary) << summary.error().message;
    const LoraForm form{w};
    ASSERT_EQ(summary->trainable_parameters, form.Trained()) << LayoutOf(w);
    ASSERT_EQ(summary->parameters, form.Parameters() + form.Trained()) << LayoutOf(w);
    ASSERT_EQ(summary->model_flops, static_cast<double>(form.LoraFlops())) << LayoutOf(w);
    if (w.model.experts == 0 && w.model.kv_rank == 0) {  // else ranks compute some products alike
      ASSERT_EQ(summary->executed_flops - summary->model_flops,
                static_cast<double>(form.MoreFlops()))
          << LayoutOf(w);
    }
    ASSERT_EQ(BytesOf(*summary), form.LoraTransfers()) << LayoutOf(w);
  }
}

// 2 bytes of everything; 4 of a gradient and 12 of states for what is trained.
TEST_P(LoraLayouts, MemoryIsOfWhatIsTrained) {
  int checked = 0;
  while (checked < 20) {
    const Workload w = Next();
    if (w.model.dtype != DType::kBFloat16) {
      continue;
    }
    ++checked;
    const auto summary = Generate({.workload = w});
    ASSERT_TRUE(summary) << summary.error().message;
    const LoraForm form{w};
    const Layout& l = w.layout;
    for (std::int64_t stage = 0; stage < l.pp; ++stage) {
      const MemorySums& bytes = summary->memory[static_cast<std::size_t>(stage)].bytes;
      const Elements frozen = form.OnRank(stage);
      if (l.fsdp) {
        const std::int64_t trained = form.PaddedOnRank() / l.dp;
        EXPECT_EQ(bytes.parameters,
                  2 * (frozen.dense / l.dp + frozen.experts * l.ep / l.dp + trained))
            << LayoutOf(w);
        EXPECT_EQ(bytes.gradients, 4 * trained) << LayoutOf(w);
        EXPECT_EQ(bytes.optimizer, 12 * trained) << LayoutOf(w);
        continue;
      }
      const std::int64_t trained = form.TrainedOnRank();
      const std::int64_t part = (trained + l.dp - 1) / l.dp;
      const std::int64_t padded = l.distributed_optimizer ? part * l.dp : trained;
      EXPECT_EQ(bytes.parameters, 2 * (frozen.dense + frozen.experts + padded)) << LayoutOf(w);
      EXPECT_EQ(bytes.gradients, 4 * (l.divided_gradients ? part : padded)) << LayoutOf(w);
      EXPECT_EQ(bytes.optimizer, 12 * (l.distributed_optimizer ? part : trained)) << LayoutOf(w);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, LoraLayouts, testing::ValuesIn(kLoraKinds),
                         [](const auto& info) { return std::string(info.param.name); });

// Of a layer of Llama stays: its two norms' inputs and their scales; what A takes and what B takes,
// of four adapters; queries, keys and values, attention's result and its sums; the block's two
// halves, the gate's activation, their product. The inputs of frozen matrices do not. The first
// layer's input has no gradient.
TEST(Lora, KeepsWhatGradientsNeed) {
  for (const auto& [tp, sp] : {std::pair(1, false), std::pair(2, false), std::pair(4, true)}) {
    Workload w = *ParseWorkload(R"({"model": {"family": "llama", "layers": 3, "hidden": 128,
        "heads": 8, "kv_heads": 4, "ffn": 384, "vocab": 512, "sequence": 64},
        "batch": {"global": 2, "micro": 2}, "lora": {"rank": 8}})",
                                "test");
    w.layout.tp = tp;
    w.layout.sequence_parallel = sp;
    CompleteWorkload(w);
    const auto summary = Generate({.workload = w});
    ASSERT_TRUE(summary) << summary.error().message;
    const std::int64_t h = 128;
    const std::int64_t q = 128;
    const std::int64_t kv = 64;
    const std::int64_t f = 384;
    const std::int64_t tokens = 128;
    const std::int64_t outer = sp ? tokens / tp : tokens;
    const std::int64_t norm = 2 * outer * h + 4 * outer;
    const std::int64_t layer = 2 * norm + 2 * 2 * tokens * h + 4 * 2 * tokens * 8 +
                               2 * tokens / tp * (q + 2 * kv + q + kv + q + 2 * f + f + f) +
                               4 * tokens * 8 / tp;
    EXPECT_EQ(summary->memory[0].bytes.layer_activations, 3 * layer - norm) << tp;
  }
}

TEST(Lora, DropsTheInputOfEachAdapter) {
  std::int64_t dropouts = 0;
  Workload w = PresetWith("llama-small", 8, {"q_proj", "o_proj"});
  w.lora->dropout = 0.1;
  w.layout = {};
  w.global_batch = w.micro_batch = 1;
  ASSERT_TRUE(Generate({.workload = w, .observe = [&](Node& node, const NodeFacts&) {
                          dropouts += node.op == "aten::native_dropout" ? 1 : 0;
                          return Status{};
                        }}));
  EXPECT_EQ(dropouts, 2 * w.model.layers);
}

// Ring neighbours sum what is trained; groups of shards reduce and scatter it, and then sum it.
TEST(Lora, RanksOfOneSequenceAndOfOneShardReduceWhatIsTrained) {
  Workload ring = PresetWith("llama-small", 8, {"linear_qkv", "linear_fc2"});
  ring.layout = {.cp = 2};
  ring.global_batch = ring.micro_batch = 1;
  // Two layers; of 64 numbers to 128 and of 128 to 64.
  const std::int64_t trained = 2 * 8 * (64 + 128 + 128 + 64);
  TransferBytes bytes = BytesOf(*Generate({.workload = ring}));
  EXPECT_EQ((bytes[{"all_reduce", "dp"}]), 2 * trained * 4);

  Workload shards = ring;
  shards.layout = {.dp = 4, .fsdp = true, .shards = 2};
  shards.global_batch = 4;
  bytes = BytesOf(*Generate({.workload = shards}));
  EXPECT_EQ((bytes[{"reduce_scatter", "shard"}]), 4 * trained * 4);
  EXPECT_EQ((bytes[{"all_reduce", "replica"}]), 4 * trained / 2 * 4);
  // Forward and backward; the embedding's 512 x 64 forward alone.
  EXPECT_EQ((bytes[{"all_gather", "shard"}]), 4 * (2 * CountParameters(shards) - 512 * 64) * 4);
}

TEST(Lora, ChunksOfAStageComputeAndTrainTheSame) {
  Workload w = PresetWith("gpt-small", 4, {"linear_qkv", "linear_proj"});
  const GenerateSummary whole = *Generate({.workload = w});
  ASSERT_TRUE(SetSchedule("interleaved:2", w));
  const GenerateSummary chunks = *Generate({.workload = w});
  EXPECT_EQ(chunks.model_flops, whole.model_flops);
  EXPECT_EQ(chunks.trainable_parameters, whole.trainable_parameters);
  for (std::size_t stage = 0; stage < 2; ++stage) {
    EXPECT_EQ(chunks.memory[stage].bytes.optimizer, whole.memory[stage].bytes.optimizer);
    // Two states of four bytes: four layers, of 64 to 192 and of 64 to 64, two stages of two ranks.
    EXPECT_EQ(whole.memory[stage].bytes.optimizer, 8 * 4 * 4 * (64 + 192 + 64 + 64) / 2 / 2);
  }
}

// Of what is frozen nothing is computed but the gradient of its input.
TEST(Lora, FrozenWeightsHaveNoGradients) {
  for (const char* preset : {"llama-small", "gpt-small", "mixtral-small", "gpt-oss-small"}) {
    const Workload w = PresetWith(preset, 8, {"linear_qkv", "linear_proj"});
    std::int64_t norms = 0;
    const auto summary =
        Generate({.workload = w, .observe = [&](Node& node, const NodeFacts& /*facts*/) {
                    EXPECT_NE(node.op, "aten::embedding_dense_backward") << preset;
                    EXPECT_NE(node.op, "aten::index_add_") << preset;  // of biases of experts
                    const bool layer = node.op == "aten::native_layer_norm_backward";
                    if (layer || node.op == "aten::_fused_rms_norm_backward") {
                      ++norms;
                      const ValueList& mask = *node.inputs.back().AsList();
                      EXPECT_TRUE(mask[0].AsNumber<bool>(false));
                      EXPECT_FALSE(mask[1].AsNumber<bool>(true));
                      EXPECT_EQ(node.outputs.size(), layer ? 3 : 2);
                      EXPECT_EQ(node.outputs[1].AsTensor(), nullptr);
                    }
                    return Status{};
                  }});
    ASSERT_TRUE(summary) << summary.error().message;
    EXPECT_GT(norms, 0) << preset;
  }
}

}  // namespace
}  // namespace reprise
