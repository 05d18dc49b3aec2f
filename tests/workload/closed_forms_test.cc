// Parameters, model FLOPs and the bytes of every transfer against closed forms, over several
// hundred layouts of all families. Nothing here calls the generator's own arithmetic.
#include <gmock/gmock.h>

#include <functional>
#include <optional>
#include <random>
#include <string>

#include "predict/workload/job/generate.h"
#include "predict/workload/job/parse.h"
#include "tests/workload/gradient_transfers.h"

namespace reprise {
namespace {

// A transformer as the closed forms see it.
struct Form {
  const Workload& w;
  const ModelShape& m = w.model;
  const Layout& l = w.layout;
  std::int64_t m_batches = w.global_batch / (l.dp * w.micro_batch);
  std::int64_t width = m.dtype == DType::kFloat32 ? 4 : 2;
  bool vit = m.family == "vit";
  // Multiplied out, so that the sum over ranks is a product.
  std::int64_t ranks = l.tp * l.cp * l.dp * l.pp;
  std::int64_t stage_ranks = l.tp * l.cp * l.dp;
  std::int64_t tokens = m.sequence / l.cp * w.micro_batch;  // of a rank and micro-batch

  [[nodiscard]] std::int64_t NormSize() const { return m.rms_norm ? m.hidden : 2 * m.hidden; }
  [[nodiscard]] std::int64_t ExpertSize() const {
    const std::int64_t up = (m.gated_ffn ? 2 : 1) * m.ffn;
    return m.hidden * up + m.ffn * m.hidden + (m.bias ? up + m.hidden : 0);
  }
  [[nodiscard]] std::int64_t AttentionSize() const {
    const std::int64_t h = m.hidden;
    const std::int64_t kv = h * m.kv_heads / m.heads;
    return h * (h + 2 * kv) + h * h + (m.bias ? h + 2 * kv + h : 0);
  }
  [[nodiscard]] std::int64_t LayerSize() const {
    return 2 * NormSize() + AttentionSize() +
           (m.experts > 0 ? m.experts * (ExpertSize() + m.hidden) : ExpertSize());
  }
  [[nodiscard]] std::int64_t EmbeddingSize() const {
    if (vit) {
      return m.hidden * m.channels * m.patch * m.patch + m.hidden + m.hidden +
             m.sequence * m.hidden;
    }
    return m.vocab * m.hidden + (m.rotary ? 0 : m.sequence * m.hidden);
  }
  [[nodiscard]] std::int64_t HeadSize() const {
    const std::int64_t out = vit ? m.classes * m.hidden + m.classes : m.vocab * m.hidden;
    return NormSize() + (m.tied_embeddings ? 0 : out);
  }
  [[nodiscard]] std::int64_t Parameters() const {
    return EmbeddingSize() + m.layers * LayerSize() + HeadSize();
  }
  // A query and the keys of its own document, without a mask: of one sequence and head.
  [[nodiscard]] std::int64_t Pairs() const {
    std::int64_t pairs = 0;
    for (const std::int64_t tokens : w.documents) {
      pairs += tokens * tokens;
    }
    return w.documents.empty() ? m.sequence * m.sequence : pairs;
  }
  // Forward: 2 × tokens × active matrix-product parameters + 4 s h a layer and token.
  [[nodiscard]] std::int64_t ModelFlops() const {
    const std::int64_t h = m.hidden;
    const std::int64_t f = m.ffn * (m.gated_ffn ? 3 : 2);
    const std::int64_t ffn = m.experts > 0 ? h * m.experts + m.top_k * h * f : h * f;
    const std::int64_t layer = h * (h + 2 * h * m.kv_heads / m.heads) + h * h + ffn;
    const std::int64_t all = w.global_batch * m.sequence;
    std::int64_t forward = 2 * all * m.layers * layer + 4 * w.global_batch * Pairs() * h * m.layers;
    // Of images there is no gradient: the backward pass takes as many as the forward pass.
    std::int64_t patches = 0;
    if (vit) {
      patches = 2 * w.global_batch * (m.sequence - 1) * h * m.channels * m.patch * m.patch;
      forward += 2 * w.global_batch * h * m.classes;
    } else {
      forward += 2 * all * h * m.vocab;
    }
    return 3 * forward + 2 * patches;
  }
  // Of dense models with fused attention: its scores once more in the backward pass, and what is
  // recomputed.
  [[nodiscard]] std::int64_t ExecutedFlops() const {
    const std::int64_t h = m.hidden;
    const std::int64_t all = w.global_batch * m.sequence;
    const std::int64_t scores = 2 * w.global_batch * Pairs() * h * m.layers;
    const std::int64_t f = m.ffn * (m.gated_ffn ? 3 : 2);
    const std::int64_t layer = h * (h + 2 * h * m.kv_heads / m.heads) + h * h + h * f;
    std::int64_t sum = ModelFlops() + scores;
    if (w.recompute == Recompute::kFull) {
      sum += 2 * all * m.layers * layer + 2 * scores;
    } else if (AttentionAgain()) {
      sum += 2 * scores;
    }
    return sum;
  }
  // The ring keeps nothing that selective recomputation could drop.
  [[nodiscard]] bool AttentionAgain() const {
    return w.recompute == Recompute::kSelective &&
           (l.cp == 1 || l.cp_comm_type != ContextComm::kRing);
  }
  [[nodiscard]] HeldElements OnRank(std::int64_t stage) const {
    const std::int64_t t = l.tp;
    const std::int64_t h = m.hidden;
    const std::int64_t up = (m.gated_ffn ? 2 : 1) * m.ffn;
    const std::int64_t kv = h * m.kv_heads / m.heads;
    std::int64_t layer =
        2 * NormSize() + (h * (h + 2 * kv) + h * h) / t + (m.bias ? (h + 2 * kv) / t + h : 0);
    const std::int64_t expert = (h * up + m.ffn * h) / t + (m.bias ? up / t + h : 0);
    HeldElements held;
    if (m.experts > 0) {
      layer += m.experts * h;
      (l.ep > 1 ? held.experts : layer) += m.experts / l.ep * expert;
    } else {
      layer += expert;
    }
    held.experts *= m.layers / l.pp;
    held.dense = layer * (m.layers / l.pp);
    if (stage == 0) {
      held.dense += vit ? EmbeddingSize() : m.vocab / t * h + (m.rotary ? 0 : m.sequence * h);
    }
    if (vit && stage == 0 &&
        l.fsdp) {  // FSDP2 divides the first dimension, here of 1, with padding
      held.dense += (ShardsOf(l) - 1) * (h + m.sequence * h);
    }
    if (stage == l.pp - 1) {
      held.dense += vit ? HeadSize() : NormSize();
      const bool copy = !m.tied_embeddings || l.pp > 1;
      held.dense += !vit && copy ? m.vocab / t * h : 0;
    }
    return held;
  }

  void AddTensorParallel(TransferBytes& bytes) const {
    if (l.tp == 1) {
      return;
    }
    const std::int64_t hidden = tokens * m.hidden * width;
    const std::int64_t again = w.recompute == Recompute::kFull ? 2 : 0;
    const std::int64_t of_layers = stage_ranks * m_batches * m.layers * hidden;
    const std::int64_t of_ends = stage_ranks * m_batches * hidden;
    if (l.sequence_parallel) {
      // Forward 2; backward 2, and 2 of what was not kept.
      bytes[{"all_gather", "tp"}] += of_layers * (2 + 4 + again);
      bytes[{"reduce_scatter", "tp"}] += of_layers * (2 + 2 + again);
      if (!vit) {  // embedding: scattered, its gradient gathered; head: gathered twice
        bytes[{"reduce_scatter", "tp"}] += of_ends * 2;
        bytes[{"all_gather", "tp"}] += of_ends * 3;
      }
      // Gradients of what every rank holds whole.
      std::int64_t whole =
          m.layers * 2 * NormSize() + NormSize() + (m.rotary ? 0 : m.sequence * m.hidden);
      whole += m.layers * (m.bias ? 2 * m.hidden : 0);
      whole += m.layers * m.experts * m.hidden;
      bytes[{"all_reduce", "tp"}] += stage_ranks * whole * 4 / ShardsOf(l);
    } else {
      bytes[{"all_reduce", "tp"}] += of_layers * (4 + again);
      bytes[{"all_reduce", "tp"}] += vit ? 0 : of_ends * 2;
      bytes[{"all_reduce", "tp"}] +=
          m.experts > 0 ? stage_ranks * m.layers * m.experts * m.hidden * 4 / ShardsOf(l) : 0;
    }
    if (!vit) {  // the loss: largest logit, label's logit, sum of exponentials
      bytes[{"all_reduce", "tp"}] += stage_ranks * m_batches * 3 * tokens * 4;
    }
  }
  void AddContextParallel(TransferBytes& bytes) const {
    const std::int64_t layers = stage_ranks * m_batches * m.layers;
    const std::int64_t keys = 2 * tokens * (m.hidden * m.kv_heads / m.heads / l.tp) * width;
    const std::int64_t queries = tokens * (m.hidden / l.tp) * width;
    const std::int64_t forwards = w.recompute == Recompute::kFull || AttentionAgain() ? 2 : 1;
    switch (l.cp_comm_type) {
      case ContextComm::kRing:
        for (const char* kind : {"send", "recv"}) {
          bytes[{kind, "cp"}] += layers * ((forwards + 1) * (l.cp - 1) + l.cp) * keys;
        }
        break;
      case ContextComm::kAllGather:  // of keys and values in each pass; their gradients
        bytes[{"all_gather", "cp"}] += layers * (forwards + 1) * l.cp * keys;
        bytes[{"reduce_scatter", "cp"}] += layers * l.cp * keys;
        break;
      case ContextComm::kAllToAll:  // queries, keys and values there, the output back
        bytes[{"all_to_all", "cp"}] += layers * (forwards + 1) * (keys + 2 * queries);
    }
  }
  [[nodiscard]] TransferBytes Transfers() const {
    TransferBytes bytes;
    AddGradientTransfers(
        w, width, [this](std::int64_t stage) { return OnRank(stage); }, bytes);
    AddTensorParallel(bytes);
    const bool parts = l.scatter_gather && l.tp > 1 && !l.sequence_parallel && l.pp > 1;
    const std::int64_t outer =
        tokens * m.hidden * width / (l.sequence_parallel || parts ? l.tp : 1);
    if (parts) {  // each receiver gathers the whole
      bytes[{"all_gather", "tp"}] +=
          2 * (l.pp - 1) * stage_ranks * m_batches * tokens * m.hidden * width;
    }
    for (const char* kind : {"send", "recv"}) {
      if (l.pp > 1) {
        bytes[{kind, "pp"}] += 2 * (l.pp - 1) * stage_ranks * m_batches * outer;
      }
    }
    if (l.cp > 1) {
      AddContextParallel(bytes);
    }
    if (l.ep > 1) {
      const std::int64_t again = w.recompute == Recompute::kFull ? 2 : 0;
      bytes[{"all_to_all", "ep"}] +=
          stage_ranks * m_batches * m.layers * (4 + again) * tokens * m.top_k * m.hidden * width;
      bytes[{"all_gather", "ep"}] += stage_ranks * m_batches * m.layers *
                                     (w.recompute == Recompute::kFull ? 2 : 1) * l.ep * m.experts *
                                     8;
    }
    return bytes;
  }
};

class Layouts {
 public:
  // With `comm` all have context parallelism, by it.
  explicit Layouts(const char* family, std::optional<ContextComm> comm = {})
      : family_(family), comm_(comm) {}
  // A layout that keeps the rules; sizes are powers of two times small numbers.
  Workload Next(const std::function<void(Workload&)>& change = {}) {
    Workload w;
    do {
      w = Draw();
      if (change) {
        change(w);
      }
    } while (!CheckWorkload(w));
    return w;
  }

 private:
  std::int64_t OneOf(std::initializer_list<std::int64_t> numbers) {
    return *(numbers.begin() + static_cast<std::ptrdiff_t>(random_() % numbers.size()));
  }
  Workload Draw() {
    const std::int64_t heads = OneOf({4, 8, 16});
    const bool vit = family_ == "vit";
    const std::string extra =
        vit ? R"("image": 32, "patch": 8, "classes": 16,)"
            : R"("vocab": 512, "sequence": )" + std::to_string(OneOf({32, 64})) + ",";
    const std::string json = R"({"model": {"family": ")" + family_ + R"(", )" + extra +
                             R"( "layers": )" + std::to_string(OneOf({2, 4})) + R"(, "hidden": )" +
                             std::to_string(heads * OneOf({8, 16})) + R"(, "heads": )" +
                             std::to_string(heads) + R"(, "kv_heads": )" +
                             std::to_string(OneOf({heads, heads / 2})) + R"(, "ffn": 256}})";
    Workload w = *ParseWorkload(json, "test");
    w.model.dtype = OneOf({0, 1}) == 0 ? DType::kFloat32 : DType::kBFloat16;
    Layout& l = w.layout;
    l.tp = OneOf({1, 2, 4});
    l.pp = OneOf({1, 2, 4});
    l.cp = vit ? 1 : comm_ ? OneOf({2, 2, 4}) : OneOf({1, 1, 2});
    l.cp_comm_type = comm_.value_or(ContextComm::kRing);
    l.dp = OneOf({1, 2, 4});
    l.ep = w.model.experts > 0 ? OneOf({1, 2, 4}) : 1;
    l.fsdp = OneOf({0, 0, 1}) == 1;
    l.shards = l.fsdp && l.ep == 1 && l.dp == 4 ? OneOf({0, 2}) : 0;
    l.distributed_optimizer = !l.fsdp && OneOf({0, 1}) == 1;
    l.divided_gradients = l.distributed_optimizer && OneOf({0, 1}) == 1;
    l.sequence_parallel = l.tp > 1 && !vit && OneOf({0, 1}) == 1;
    l.scatter_gather = OneOf({0, 1}) == 1;
    w.micro_batch = OneOf({1, 2});
    w.global_batch = w.micro_batch * l.dp * OneOf({1, 2, 4});
    w.recompute = OneOf({0, 0, 1}) == 1 ? Recompute::kFull : Recompute::kNone;
    if (comm_ && OneOf({0, 1}) == 1) {
      w.recompute = Recompute::kSelective;
    }
    w.overlap = {OneOf({0, 1}) == 1, OneOf({0, 1}) == 1, OneOf({0, 1}) == 1};
    w.schedule = OneOf({0, 1}) == 1 ? "1f1b" : "gpipe";
    CompleteWorkload(w);
    return w;
  }
  std::string family_;
  std::optional<ContextComm> comm_;
  std::mt19937 random_{7};  // the same sequence everywhere
};

std::string Describe(const Workload& w) {
  const Layout& l = w.layout;
  return testing::PrintToString(std::vector<std::int64_t>{
             l.tp, l.pp, l.dp, l.ep, l.cp, l.fsdp ? 1 : 0, l.shards, l.sequence_parallel ? 1 : 0,
             l.zero(), l.scatter_gather ? 1 : 0, w.micro_batch, w.global_batch, w.model.layers,
             w.model.hidden, w.model.heads, w.model.kv_heads, w.model.sequence}) +
         " " + w.model.family + " " + std::string(Name(w.recompute)) + " " +
         std::string(Name(l.cp_comm_type));
}

void ExpectClosedForms(Layouts layouts, const std::function<void(Workload&)>& change = {}) {
  for (int i = 0; i < 80; ++i) {
    const Workload w = layouts.Next(change);
    const auto summary = Generate({.workload = w});
    ASSERT_TRUE(summary) << summary.error().message;
    const Form form{w};
    ASSERT_EQ(summary->parameters, form.Parameters()) << Describe(w);
    ASSERT_EQ(summary->model_flops, static_cast<double>(form.ModelFlops())) << Describe(w);
    if (w.model.experts == 0 && !form.vit) {
      ASSERT_EQ(summary->executed_flops, static_cast<double>(form.ExecutedFlops())) << Describe(w);
    }
    ASSERT_GE(summary->executed_flops, summary->model_flops) << Describe(w);
    ASSERT_EQ(BytesOf(*summary), form.Transfers()) << Describe(w);
  }
}

class ClosedForms : public testing::TestWithParam<const char*> {};

TEST_P(ClosedForms, ParametersFlopsAndTransfersAreEqual) { ExpectClosedForms(Layouts(GetParam())); }

class ContextForms : public testing::TestWithParam<ContextComm> {};

TEST_P(ContextForms, ParametersFlopsAndTransfersAreEqual) {
  for (const char* family : {"llama", "gpt"}) {
    ExpectClosedForms(Layouts(family, GetParam()));
  }
}

TEST(Documents, FlopsAreThoseOfEach) {
  for (const char* family : {"llama", "gpt"}) {
    Layouts layouts(family, ContextComm::kAllToAll);
    std::mt19937 random{29};
    ExpectClosedForms(std::move(layouts), [&random](Workload& w) {
      if (random() % 2 == 0) {
        w.layout.cp = 1;
      }
      w.micro_batch = 1;
      w.global_batch = 2 * w.layout.dp;
      for (std::int64_t left = w.model.sequence; left > 0; left -= w.documents.back()) {
        w.documents.push_back(std::min<std::int64_t>(left, 1 + random() % 20));
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, ContextForms,
                         testing::Values(ContextComm::kRing, ContextComm::kAllGather,
                                         ContextComm::kAllToAll));

INSTANTIATE_TEST_SUITE_P(Families, ClosedForms, testing::Values("gpt", "llama", "mixtral", "vit"));

TEST(ClosedForms, RecommendationModel) {
  for (const std::int64_t ranks : {1, 2, 4, 5, 8}) {
    Workload w = *ReadWorkload("dlrm-small");
    w.layout.dp = ranks;
    w.global_batch = 16 * ranks;
    CompleteWorkload(w);
    const auto summary = Generate({.workload = w});
    ASSERT_TRUE(summary) << summary.error().message;
    // Tables 2,180 × 16; perceptrons 13-64-16 and (16 + 21)-64-1.
    const std::int64_t dense = 13 * 64 + 64 + 64 * 16 + 16 + 37 * 64 + 64 + 64 + 1;
    EXPECT_EQ(summary->parameters, 2180 * 16 + dense);
    const std::int64_t products = 13 * 64 + 64 * 16 + 37 * 64 + 64 + 7 * 7 * 16;
    // The dense features need no gradient.
    EXPECT_EQ(summary->model_flops,
              static_cast<double>(w.global_batch * (6 * products - 2 * 13 * 64)));
    EXPECT_EQ(summary->executed_flops, summary->model_flops);
    TransferBytes bytes;
    if (ranks > 1) {
      bytes[{"all_reduce", "dp"}] = ranks * dense * 4;
      bytes[{"all_reduce", "norm"}] = ranks * 4;
      // Sums travel forward, gradients back; of each the larger side: what a rank sends for its
      // tables, or what it receives of all.
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        const std::int64_t tables = 6 / ranks + (rank < 6 % ranks ? 1 : 0);
        bytes[{"all_to_all", "ep"}] += 2 * std::max(tables * ranks, std::int64_t{6}) * 16 * 16 * 4;
      }
    }
    EXPECT_EQ(BytesOf(*summary), bytes) << ranks;
  }
}

// The formula for a dense GPT's step, with its terms for attention and vocabulary (arXiv
// 2104.04473, section 3.4.1: 96 with full recomputation, so 72 without).
TEST(ClosedForms, DenseGptStep) {
  Workload w = *ReadWorkload("megatron-22b");
  CompleteWorkload(w);
  const auto summary = Generate({.workload = w});
  ASSERT_TRUE(summary) << summary.error().message;
  const double h = 6144;
  const double s = 2048;
  const double layers = 48;
  const double expected =
      72.0 * 4 * s * layers * h * h * (1 + s / (6 * h) + 51200 / (12 * layers * h));
  EXPECT_NEAR(summary->model_flops / expected, 1, 1e-12);
}

}  // namespace
}  // namespace reprise
