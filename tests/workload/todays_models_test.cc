// Models of 2023 to 2025: parameters as published; parameters, FLOPs and the bytes of every
// transfer against closed forms over random layouts. Nothing here calls the generator's own
// arithmetic.
#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <string>

#include "predict/workload/job/generate.h"
#include "predict/workload/job/parse.h"
#include "tests/workload/gradient_transfers.h"

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

// Elements of one layer, or of embedding and head.
struct Elements {
  std::int64_t whole = 0;    // of the model
  std::int64_t dense = 0;    // that a rank holds, reduced among data-parallel ranks
  std::int64_t experts = 0;  // that a rank holds, reduced among replicas of its experts
  std::int64_t active = 0;   // that a token multiplies
  std::int64_t summed = 0;   // whole on each tensor-parallel rank, with a part of its gradient

  void Add(const Elements& other) {
    whole += other.whole;
    dense += other.dense;
    experts += other.experts;
    active += other.active;
    summed += other.summed;
  }
};

struct LayerForm {
  const Workload& w;
  const ModelShape& m = w.model;
  const Layout& l = w.layout;
  std::int64_t h = m.hidden, t = l.tp;
  std::int64_t batches = w.global_batch / (l.dp * w.micro_batch);
  std::int64_t width = m.dtype == DType::kFloat32 ? 4 : 2;
  std::int64_t tokens = m.sequence * w.micro_batch;
  std::int64_t stage_ranks = l.tp * l.dp;
  bool sp = l.sequence_parallel;

  // A matrix divided among tensor-parallel ranks, with a bias of `bias` numbers that is divided,
  // too.
  [[nodiscard]] Elements Divided(std::int64_t size, std::int64_t bias = 0) const {
    return {.whole = size + bias, .dense = (size + bias) / t, .active = size};
  }
  // On each rank: what takes a part of the sequence has a part of the gradient.
  [[nodiscard]] Elements Whole(std::int64_t size, bool multiplies,
                               bool always_summed = false) const {
    return {.whole = size,
            .dense = size,
            .active = multiplies ? size : 0,
            .summed = t > 1 && (sp || always_summed) ? size : 0};
  }
  [[nodiscard]] Elements NormOf(std::int64_t size) const {
    return Whole(m.rms_norm ? size : 2 * size, false);
  }

  [[nodiscard]] Elements Attention() const {
    Elements sum;
    if (m.kv_rank > 0) {
      if (m.q_rank > 0) {
        sum.Add(Whole(h * m.q_rank, true));
        sum.Add(NormOf(m.q_rank));
      }
      sum.Add(Divided((m.q_rank > 0 ? m.q_rank : h) * m.heads * m.head_size));
      sum.Add(Whole(h * (m.kv_rank + m.rotary_size), true));
      sum.Add(NormOf(m.kv_rank));
      sum.Add(Divided(m.kv_rank * m.heads * (m.head_size - m.rotary_size + m.value_size)));
      sum.Add(Divided(m.heads * m.value_size * h));
      return sum;
    }
    const std::int64_t heads = (m.heads + 2 * m.kv_heads) * m.head_size;
    sum.Add(Divided(h * heads, m.qkv_bias.value_or(m.bias) ? heads : 0));
    sum.Add(Divided(m.heads * m.head_size * h));
    if (m.out_bias.value_or(m.bias)) {
      sum.Add(Whole(h, false));
    }
    if (m.qk_norm) {
      sum.Add(Whole(2 * m.head_size, false, true));
    }
    if (m.sinks) {
      sum.Add({.whole = m.heads, .dense = m.heads / t});
    }
    return sum;
  }

  // Up and down to `inner` numbers.
  [[nodiscard]] Elements Block(std::int64_t inner) const {
    const std::int64_t up = (m.gated_ffn ? 2 : 1) * inner;
    Elements sum = Divided(h * up + inner * h, m.bias ? up : 0);
    if (m.bias) {
      sum.Add(Whole(h, false));
    }
    return sum;
  }

  [[nodiscard]] bool HasExperts(std::int64_t layer) const {
    return m.experts > 0 && layer >= m.dense_layers && (layer + 1) % m.experts_every == 0;
  }
  [[nodiscard]] Elements FeedForward(std::int64_t layer) const {
    if (!HasExperts(layer)) {
      return Block(m.dense_ffn > 0 ? m.dense_ffn : m.ffn);
    }
    Elements sum = Whole(h * m.experts, true, true);
    if (m.router_bias) {
      sum.Add(Whole(m.experts, false, true));
    }
    const Elements one = Block(m.ffn);
    const std::int64_t held = m.experts / l.ep * one.dense;
    sum.Add({.whole = m.experts * one.whole,
             .dense = l.ep == 1 ? held : 0,
             .experts = l.ep > 1 ? held : 0,
             .active = m.top_k * one.active});
    if (m.shared_ffn > 0) {
      sum.Add(Block(m.shared_ffn));
    }
    return sum;
  }
  [[nodiscard]] Elements OfLayer(std::int64_t layer) const {
    Elements sum = NormOf(h);
    sum.Add(NormOf(h));
    sum.Add(Attention());
    sum.Add(FeedForward(layer));
    return sum;
  }
  [[nodiscard]] Elements Embedding() const {
    Elements sum = Divided(m.vocab * h);
    sum.active = 0;
    if (m.embedding_norm) {
      sum.Add(NormOf(h));
    }
    return sum;
  }
  [[nodiscard]] Elements Head() const {
    Elements sum = NormOf(h);
    Elements words = Divided(m.vocab * h);
    if (m.tied_embeddings) {
      words.whole = 0;
      words.dense = l.pp > 1 ? words.dense : 0;
    }
    sum.Add(words);
    return sum;
  }
  [[nodiscard]] std::int64_t Parameters() const {
    std::int64_t sum = Embedding().whole + Head().whole;
    for (std::int64_t layer = 0; layer < m.layers; ++layer) {
      sum += OfLayer(layer).whole;
    }
    return sum;
  }
  [[nodiscard]] std::int64_t ModelFlops() const {
    const std::int64_t all = w.global_batch * m.sequence;
    std::int64_t forward = 2 * all * m.vocab * h;
    for (std::int64_t layer = 0; layer < m.layers; ++layer) {
      const bool full = m.window == 0 ||
                        (m.full_attention_every > 0 && (layer + 1) % m.full_attention_every == 0);
      const std::int64_t keys = full ? m.sequence : std::min(m.sequence, m.window);
      const std::int64_t values = m.kv_rank > 0 ? m.value_size : m.head_size;
      forward +=
          2 * all * OfLayer(layer).active + 2 * all * keys * m.heads * (m.head_size + values);
    }
    return 3 * forward;
  }

  [[nodiscard]] std::int64_t StageOf(std::int64_t layer) const { return layer / (m.layers / l.pp); }
  [[nodiscard]] Elements OnRank(std::int64_t stage) const {
    Elements sum;
    for (std::int64_t layer = 0; layer < m.layers; ++layer) {
      if (StageOf(layer) == stage) {
        sum.Add(OfLayer(layer));
      }
    }
    if (stage == 0) {
      sum.Add(Embedding());
    }
    if (stage == l.pp - 1) {
      sum.Add(Head());
    }
    return sum;
  }

  // Forward and, with full recomputation, forward again.
  [[nodiscard]] std::int64_t Forwards() const { return w.recompute == Recompute::kFull ? 2 : 1; }

  void AddTensorParallel(TransferBytes& bytes) const {
    if (t == 1) {
      return;
    }
    const std::int64_t passes = stage_ranks * batches * width * tokens;
    // Numbers of a token that enter the divided layers, and those that a product takes.
    const std::int64_t latent = (m.q_rank > 0 ? m.q_rank : h) + m.kv_rank;
    const std::int64_t enters = m.kv_rank > 0 ? latent + m.rotary_size : h;
    const std::int64_t multiplied = m.kv_rank > 0 ? latent : h;
    if (sp) {
      const std::int64_t gathered =
          Forwards() * (enters + h) + 2 * h + (multiplied + h);  // forward; gradients; inputs again
      const std::int64_t scattered = Forwards() * 2 * h + enters + h;
      bytes[{"all_gather", "tp"}] += passes * (m.layers * gathered + 3 * h);
      bytes[{"reduce_scatter", "tp"}] += passes * (m.layers * scattered + 2 * h);
    } else {
      bytes[{"all_reduce", "tp"}] +=
          passes * (m.layers * (Forwards() * 2 * h + enters + h) + 2 * h);
    }
    bytes[{"all_reduce", "tp"}] += stage_ranks * batches * 3 * tokens * 4;  // the loss
  }

  [[nodiscard]] TransferBytes Transfers() const {
    TransferBytes bytes;
    const auto held = [this](std::int64_t stage) {
      const Elements all = OnRank(stage);
      return HeldElements{all.dense, all.experts};
    };
    AddGradientTransfers(w, width, held, bytes);
    for (std::int64_t stage = 0; stage < l.pp; ++stage) {
      if (const std::int64_t summed = OnRank(stage).summed; summed > 0) {
        bytes[{"all_reduce", "tp"}] += stage_ranks * summed * 4 / ShardsOf(l);
      }
    }
    AddTensorParallel(bytes);
    for (const char* kind : {"send", "recv"}) {
      if (l.pp > 1) {
        bytes[{kind, "pp"}] +=
            2 * (l.pp - 1) * stage_ranks * batches * tokens * h * width / (sp ? t : 1);
      }
    }
    for (std::int64_t layer = 0; layer < m.layers && l.ep > 1; ++layer) {
      if (HasExperts(layer)) {
        bytes[{"all_to_all", "ep"}] +=
            stage_ranks * batches * (2 * Forwards() + 2) * tokens * m.top_k * h * width;
        bytes[{"all_gather", "ep"}] += stage_ranks * batches * Forwards() * l.ep * m.experts * 8;
      }
    }
    return bytes;
  }
};

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
  std::int64_t OneOf(std::initializer_list<std::int64_t> numbers) {
    return *(numbers.begin() + static_cast<std::ptrdiff_t>(random_() % numbers.size()));
  }
  Workload Draw() {
    Workload w = *ParseWorkload(
        std::string(R"({"model": {"layers": 4, "hidden": 128, "heads": 8, "ffn": 256, "vocab": 512,
                        "sequence": 64, )") +
            GetParam().model + "}}",
        "test");
    w.model.dtype = OneOf({0, 1}) == 0 ? DType::kFloat32 : DType::kBFloat16;
    Layout& l = w.layout;
    l.tp = OneOf({1, 2, 4});
    l.pp = OneOf({1, 2});
    l.dp = OneOf({1, 2, 4});
    l.ep = w.model.experts > 0 ? OneOf({1, 2, 4}) : 1;
    l.fsdp = OneOf({0, 0, 1}) == 1 && l.tp == 1;  // shards are equal
    l.distributed_optimizer = !l.fsdp && OneOf({0, 1}) == 1;
    l.sequence_parallel = l.tp > 1 && OneOf({0, 1}) == 1;
    w.micro_batch = OneOf({1, 2});
    w.global_batch = w.micro_batch * l.dp * OneOf({1, 2});
    w.recompute = OneOf({0, 0, 1}) == 1 ? Recompute::kFull : Recompute::kNone;
    w.overlap = {OneOf({0, 1}) == 1, OneOf({0, 1}) == 1, OneOf({0, 1}) == 1};
    const char* const recipes[] = {"none", "delayed", "tensorwise", "blockwise", "mxfp8"};
    w.fp8 = recipes[OneOf({0, 0, 0, 1, 2, 3, 4})];
    CompleteWorkload(w);
    return w;
  }
  Workload Next() {
    Workload w;
    do {
      w = Draw();
    } while (!CheckWorkload(w));
    return w;
  }
  std::mt19937 random_{11};
};

TEST_P(TodaysModels, ParametersFlopsAndTransfersAreEqual) {
  for (int i = 0; i < 40; ++i) {
    const Workload w = Next();
    const Layout& l = w.layout;
    const std::string layout =
        testing::PrintToString(std::vector<std::int64_t>{
            l.tp, l.pp, l.dp, l.ep, l.fsdp ? 1 : 0, l.sequence_parallel ? 1 : 0,
            l.distributed_optimizer ? 1 : 0, w.micro_batch, w.global_batch,
            w.recompute == Recompute::kFull ? 1 : 0}) +
        " " + w.fp8;
    const auto summary = Generate({.workload = w});
    ASSERT_TRUE(summary) << summary.error().message;
    const LayerForm form{w};
    ASSERT_EQ(summary->parameters, form.Parameters()) << layout;
    ASSERT_EQ(summary->model_flops, static_cast<double>(form.ModelFlops())) << layout;
    ASSERT_EQ(BytesOf(*summary), form.Transfers()) << layout;
  }
}

INSTANTIATE_TEST_SUITE_P(All, TodaysModels, testing::ValuesIn(kKinds),
                         [](const auto& info) { return std::string(info.param.name); });

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
