// Experts whose matrices other ranks divide than those of dense layers: parameters, FLOPs and bytes
// of transfers against closed forms, groups, memory.
#include <gmock/gmock.h>

#include <string>

#include "predict/workload/job/generate.h"
#include "predict/workload/job/parse.h"
#include "tests/workload/language_forms.h"
#include "tests/workload/random_jobs.h"

namespace reprise {
namespace {

using testing::HasSubstr;

// Parts of a language model's form, with other ranks for experts. Each rank sends its own tokens.
struct OwnRanksForm {
  const Workload& w;
  const ModelShape& m = w.model;
  const Layout& l = w.layout;
  LayerForm dense{w};

  explicit OwnRanksForm(const Workload& of) : w(of) {
    dense.tokens /= l.cp;
    dense.stage_ranks *= l.cp;
  }
  [[nodiscard]] std::int64_t Experts() const {  // layers with them
    std::int64_t layers = 0;
    for (std::int64_t layer = 0; layer < m.layers; ++layer) {
      layers += dense.HasExperts(layer) ? 1 : 0;
    }
    return layers;
  }
  [[nodiscard]] HeldElements OnRank(std::int64_t stage) const {
    HeldElements held{dense.OnRank(stage).dense, 0};
    for (std::int64_t layer = 0; layer < m.layers; ++layer) {
      if (dense.HasExperts(layer) && dense.StageOf(layer) == stage) {
        const std::int64_t up = (m.gated_ffn ? 2 : 1) * m.ffn;
        const std::int64_t own = (m.hidden * up + m.ffn * m.hidden) / l.etp;
        held.experts += m.experts / l.ep * own;
        held.dense -= l.ep == 1 ? m.experts * (m.hidden * up + m.ffn * m.hidden) / l.tp : 0;
      }
    }
    return held;
  }
  [[nodiscard]] std::int64_t SharedForwards() const {
    return dense.Forwards() + (dense.Again("moe") || dense.Again("shared_experts") ? 1 : 0);
  }
  [[nodiscard]] std::int64_t ExpertForwards() const {
    return dense.Forwards() + (dense.Again("moe") ? 1 : 0);
  }

  void AddTensorParallel(TransferBytes& bytes) const {
    if (l.tp == 1) {
      return;
    }
    const std::int64_t passes = dense.stage_ranks * dense.batches * dense.width * dense.tokens;
    const std::int64_t h = m.hidden;
    // Attention, and what every token takes: forward, gradients, inputs again.
    std::int64_t gathered = m.layers * (dense.Forwards() + 2);
    std::int64_t scattered = m.layers * (dense.Forwards() + 1);
    for (std::int64_t layer = 0; layer < m.layers; ++layer) {
      const bool experts = dense.HasExperts(layer);
      if (!experts || m.shared_ffn > 0) {
        const std::int64_t forwards = experts ? SharedForwards() : dense.BlockForwards(layer);
        gathered += forwards + 2;
        scattered += forwards + 1;
      }
    }
    bytes[{"all_gather", "tp"}] += passes * h * (gathered + 3);
    bytes[{"reduce_scatter", "tp"}] += passes * h * (scattered + 2);
    bytes[{"all_reduce", "tp"}] += dense.stage_ranks * dense.batches * 3 * dense.tokens * 4;
    for (std::int64_t stage = 0; stage < l.pp; ++stage) {
      bytes[{"all_reduce", "tp"}] +=
          dense.stage_ranks * dense.OnRank(stage).summed * 4 / ShardsOf(l);
    }
  }
  void AddExperts(TransferBytes& bytes) const {
    const std::int64_t passes = dense.stage_ranks * dense.batches * Experts();
    const std::int64_t rows = dense.tokens / l.tp * m.top_k;
    const std::int64_t travels = passes * rows * m.hidden * dense.width;
    const std::int64_t forwards = ExpertForwards();
    if (l.ep > 1) {
      bytes[{"all_to_all", "ep"}] += (2 * forwards + 2) * travels;
    }
    if (l.etp > 1) {  // of the gathered rows
      bytes[{"all_gather", "etp"}] += (forwards + 1) * travels * l.etp;
      bytes[{"reduce_scatter", "etp"}] += (forwards + 1) * travels * l.etp;
    }
    if (l.etp * l.ep > 1) {
      bytes[{"all_gather", "ep_etp"}] += passes * forwards * l.etp * l.ep * m.experts * 8;
    }
  }
  [[nodiscard]] TransferBytes Transfers() const {
    TransferBytes bytes;
    AddGradientTransfers(
        w, dense.width, [this](std::int64_t stage) { return OnRank(stage); }, bytes);
    AddTensorParallel(bytes);
    AddExperts(bytes);
    for (const char* kind : {"send", "recv"}) {
      if (l.pp > 1) {
        bytes[{kind, "pp"}] += 2 * (l.pp - 1) * dense.stage_ranks * dense.batches * dense.tokens *
                               m.hidden * dense.width / l.tp;
      }
      if (l.cp > 1) {
        const std::int64_t keys =
            2 * dense.tokens * (m.kv_heads * m.head_size / l.tp) * dense.width;
        bytes[{kind, "cp"}] += dense.stage_ranks * dense.batches * m.layers *
                               ((dense.Forwards() + 1) * (l.cp - 1) + l.cp) * keys;
      }
    }
    return bytes;
  }
};

Workload DrawOwnRanks(RandomJobs& jobs) {
  const std::string dense = jobs.OneOf({0, 1}) == 1 ? R"(, "dense_layers": 1)" : "";
  const std::string shared = jobs.OneOf({0, 1}) == 1 ? R"(, "shared_ffn": 64)" : "";
  Workload w =
      jobs.Of(R"("family": "qwen3", "experts": 8, "top_k": 2, "kv_heads": 4)" + dense + shared);
  Layout& l = w.layout;
  l.cp = jobs.OneOf({1, 1, 2});
  l.etp = jobs.OneOf({1, 2, 4, 8});
  l.ep = jobs.OneOf({1, 2, 4, 8});
  l.sequence_parallel = l.tp > 1;
  w.model.grouped_experts = jobs.OneOf({0, 1}) == 1;
  jobs.DrawRecomputation(w, {"moe"});
  if (!w.Recomputes("moe") && w.recompute == Recompute::kSelective) {
    w.recompute = Recompute::kNone;  // else attention, which the ring does not recompute
  }
  CompleteWorkload(w);
  return w;
}

TEST(ExpertTensorParallel, ParametersFlopsAndTransfersAreEqual) {
  RandomJobs jobs(23);
  for (int i = 0; i < 100; ++i) {
    const Workload w = jobs.Sound([&] { return DrawOwnRanks(jobs); });
    const Layout& l = w.layout;
    const std::string layout = testing::PrintToString(std::vector<std::int64_t>{
        l.tp, l.cp, l.pp, l.dp, l.etp, l.ep, l.zero(), w.model.shared_ffn, w.model.dense_layers,
        w.recompute == Recompute::kFull ? 1 : 0, w.micro_batch, w.global_batch});
    const auto summary = Generate({.workload = w});
    ASSERT_TRUE(summary) << summary.error().message;
    const OwnRanksForm form(w);
    ASSERT_EQ(summary->parameters, form.dense.Parameters()) << layout;
    ASSERT_EQ(summary->model_flops, static_cast<double>(form.dense.ModelFlops())) << layout;
    ASSERT_EQ(BytesOf(*summary), form.Transfers()) << layout;
    for (std::int64_t stage = 0; stage < l.pp && l.zero() == 0; ++stage) {
      const HeldElements held = form.OnRank(stage);
      ASSERT_EQ(summary->memory[static_cast<std::size_t>(stage)].bytes.parameters,
                form.dense.width * (held.dense + held.experts))
          << layout;
    }
  }
}

// etp x ep x edp ranks of a stage, in this order.
TEST(ExpertTensorParallel, Groups) {
  RandomJobs jobs(1);
  Workload w = jobs.Of(R"("family": "qwen3", "experts": 8, "top_k": 2)");
  w.layout = {.tp = 4, .dp = 2, .ep = 2, .etp = 2, .sequence_parallel = true};
  w.micro_batch = 1;
  w.global_batch = 2;
  CompleteWorkload(w);
  ASSERT_TRUE(CheckWorkload(w));
  const RankPlan plan = PlanRanks(w);
  const auto ranks = ClassesOfRanks(w, plan);
  ASSERT_TRUE(ranks) << ranks.error().message;
  std::map<std::string, std::set<std::vector<std::int32_t>>> groups;
  for (const auto& [key, group] : ranks->Groups()) {
    groups[group.description].insert(group.ranks);
  }
  using Groups = std::set<std::vector<std::int32_t>>;
  EXPECT_EQ(groups["EXPERT_TENSOR_PARALLEL_GROUP"], (Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(groups["EXPERT_MODEL_PARALLEL_GROUP"], (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(groups["EXPERT_DATA_PARALLEL_GROUP"], (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(groups["TENSOR_MODEL_PARALLEL_GROUP"], (Groups{{0, 1, 2, 3}, {4, 5, 6, 7}}));
}

// More ranks share experts than data.
TEST(ExpertTensorParallel, GroupsOfTensorParallelRanks) {
  RandomJobs jobs(1);
  Workload w = jobs.Of(R"("family": "qwen3", "experts": 8, "top_k": 2)");
  w.layout = {.tp = 4, .ep = 4, .etp = 1, .sequence_parallel = true};
  w.micro_batch = w.global_batch = 1;
  CompleteWorkload(w);
  ASSERT_TRUE(CheckWorkload(w));
  const auto ranks = ClassesOfRanks(w, PlanRanks(w));
  ASSERT_TRUE(ranks) << ranks.error().message;
  for (const auto& [key, group] : ranks->Groups()) {
    EXPECT_THAT(group.ranks, testing::ElementsAre(0, 1, 2, 3)) << group.description;
  }
}

TEST(ExpertTensorParallel, Rules) {
  const auto rule = [](const std::string& experts, const std::string& layout,
                       const std::string& more = "") {
    const auto read = ParseWorkload(
        R"({"model": {"family": "qwen3", "layers": 2, "hidden": 64, "heads": 4,
            "ffn": 64, "vocab": 64, "sequence": 32)" +
            experts + R"(}, "batch": {"global": 8, "micro": 1}, "layout": )" + layout + more + "}",
        "test");
    EXPECT_TRUE(read) << (read ? "" : read.error().message);
    Workload w = read.value_or(Workload{});
    CompleteWorkload(w);
    const Status checked = CheckWorkload(w);
    return checked ? "" : checked.error().message;
  };
  const std::string eight = R"(, "experts": 8, "top_k": 2)";
  EXPECT_THAT(rule("", R"({"etp": 2, "dp": 2})"), HasSubstr("needs a model with experts"));
  EXPECT_THAT(rule(eight, R"({"etp": 1, "tp": 2})"), HasSubstr("needs \"sequence_parallel\""));
  EXPECT_THAT(rule(eight, R"({"etp": 2, "ep": 4, "dp": 4})"),
              HasSubstr("etp 2 x ep 4 = 8 does not divide the 4 ranks of a stage"));
  EXPECT_THAT(rule(eight, R"({"etp": 128, "dp": 128})"), HasSubstr("64 columns of an expert"));
  EXPECT_THAT(rule(eight, R"({"etp": 1, "ep": 2, "dp": 2})", R"(, "routing": "zipf:1")"),
              HasSubstr("equal numbers of tokens: balanced routing"));
  EXPECT_THAT(rule(eight, R"({"etp": 1, "dp": 4, "fsdp": true, "shards": 2})"),
              HasSubstr("\"shards\" and expert parallelism both divide"));
  EXPECT_EQ(rule(eight, R"({"etp": 1, "tp": 2, "ep": 4, "dp": 2, "sequence_parallel": true})"), "");
}

}  // namespace
}  // namespace reprise
