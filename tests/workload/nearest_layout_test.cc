// The nearest layout that a broken rule names keeps all rules, and generates.
#include "workload/job/nearest_layout.h"

#include <gmock/gmock.h>

#include <random>
#include <string>

#include "workload/job/generate.h"
#include "workload/job/parse.h"

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
  std::string description, rule, nearest;
};

class NearestLayouts : public testing::TestWithParam<Broken> {};

TEST_P(NearestLayouts, IsNamedBesideTheRuleAndGenerates) {
  const auto& [description, rule, nearest] = GetParam();
  const Workload w = Described(description);
  const Status checked = CheckWorkload(w);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr(rule));
  EXPECT_THAT(checked.error().message, HasSubstr("; the nearest layout that works has " + nearest));
  const auto found = FindNearestLayout(w, std::nullopt);
  ASSERT_TRUE(found);
  const auto summary = Generate({.workload = found->workload});
  EXPECT_TRUE(summary) << summary.error().message;
}

std::string Gpt(const std::string& rest) { return "{" + std::string(kGpt) + ", " + rest + "}"; }
std::string Moe(const std::string& rest) { return "{" + std::string(kMoe) + ", " + rest + "}"; }
std::string Vit(const std::string& rest) { return "{" + std::string(kVit) + ", " + rest + "}"; }
const char kBatch[] = R"("batch": {"global": 8, "micro": 2})";

INSTANTIATE_TEST_SUITE_P(
    Rules, NearestLayouts,
    testing::Values(
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"tp": 3})"),
               "tensor parallelism of 3 does not divide 4 attention heads", "\"tp\" 4"},
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"dp": 3})"),
               "a global batch of 8 is not a multiple of 6", "\"dp\" 4"},
        Broken{Gpt(R"("batch": {"global": 8, "micro": 3})"), "is not a multiple of 3",
               "\"global\" 9"},
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"pp": 5})"),
               "5 stages of a pipeline, but 4 layers", "\"pp\" 4"},
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"pp": 3})"),
               "4 layers do not divide among 3 stages", "\"pp\" 4"},
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"pp": 2, "layers_per_stage": [2, 3]})"),
               "\"layers_per_stage\" adds up to 5", "\"layers_per_stage\" [2, 2]"},
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"pp": 1, "layers_per_stage": [1, 2]})"),
               "\"layers_per_stage\" has 2 numbers; expected 1",
               "\"pp\" 2, \"layers_per_stage\" [1, 3]"},
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"pp": 1, "layers_per_stage": [3, 1]})"),
               "\"layers_per_stage\" has 2 numbers; expected 1", "\"pp\" 2"},
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"tp": 0})"), "\"tp\" is 0; expected 1 to",
               "\"tp\" 1"},
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"pp": -4})"), "\"pp\" is -4", "\"pp\" 1"},
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"dp": 4611686018427387904})"),
               "\"dp\" is 4611686018427387904; expected 1 to", "\"dp\" 4"},
        Broken{Gpt(R"("batch": {"global": 0, "micro": 1})"), "\"global_batch\" is 0",
               "\"global\" 1"},
        Broken{Gpt(R"("batch": {"global": 8, "micro": -1})"), "\"micro_batch\" is -1",
               "\"micro\" 1"},
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"ep": 2, "dp": 2})"),
               "expert parallelism of 2 needs a model with experts", "\"ep\" 1"},
        Broken{Moe(std::string(kBatch) + R"(, "layout": {"ep": 3, "dp": 4})"),
               "expert parallelism of 3 does not divide 8 experts", "\"ep\" 4"},
        Broken{Moe(std::string(kBatch) + R"(, "layout": {"ep": 8, "dp": 4})"),
               "does not divide data parallelism of 4", "\"ep\" 4"},
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"cp": 3})"),
               "context parallelism of 3 does not divide 32", "\"cp\" 4"},
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"sequence_parallel": true})"),
               "sequence parallelism needs tensor parallelism", "\"sequence_parallel\" false"},
        Broken{Gpt(std::string(kBatch) +
                   R"(, "layout": {"dp": 2, "fsdp": true, "distributed_optimizer": true})"),
               "\"fsdp\" divides the optimizer's states already", "\"fsdp\" false"},
        Broken{Gpt(std::string(kBatch) + R"(, "layout": {"dp": 2, "pp": 2, "fsdp": true})"),
               "needs \"tied_embeddings\": false", "\"fsdp\" false"},
        Broken{Gpt(std::string(kBatch) + R"(, "schedule": "interleaved:2")"),
               "schedule \"interleaved\" needs pipeline parallelism", "\"pp\" 2"},
        Broken{Gpt(R"("batch": {"global": 6, "micro": 2}, "layout": {"pp": 2},
                      "schedule": "interleaved:2")"),
               "takes a multiple of 2 micro-batches", "\"global\" 8"},
        // No layout works: the model must change.
        Broken{R"({"model": {"layers": 2, "hidden": 60, "heads": 7, "vocab": 256, "sequence": 32},
                   "batch": {"global": 8, "micro": 2}})",
               "\"heads\" of 7 does not divide \"hidden\" of 60", "\"heads\" 6"},
        Broken{R"({"model": {"layers": 2, "hidden": 0, "heads": 4, "vocab": 256, "sequence": 32},
                   "batch": {"global": 8, "micro": 2}})",
               "\"hidden\" is 0; expected 1 to", "\"hidden\" 4"},
        Broken{R"({"model": {"layers": 2, "hidden": 4096, "heads": 32, "vocab": 256,
                             "sequence": 2000000000}, "batch": {"global": 8, "micro": 2}})",
               "more than 2^63 FLOPs", "\"sequence\""},
        Broken{Vit(std::string(kBatch) + R"(, "layout": {"cp": 2})"),
               "a vision transformer has no context parallelism", "\"cp\" 1"},
        // Two rules: the layout that is named keeps both.
        Broken{Gpt(R"("batch": {"global": 7, "micro": 2}, "layout": {"tp": 3})"),
               "does not divide 4 attention heads", "\"tp\" 4, \"global\" 8"}));

TEST(NearestLayouts, OfAnyBrokenLayoutGenerates) {
  std::mt19937 random{11};
  const auto one_of = [&random](std::initializer_list<std::int64_t> numbers) {
    return *(numbers.begin() + static_cast<std::ptrdiff_t>(random() % numbers.size()));
  };
  int broken = 0;
  while (broken < 40) {
    Workload w = Described(one_of({0, 1}) == 0 ? Gpt(kBatch) : Moe(kBatch));
    w.layout.tp = one_of({1, 2, 3, 5, 8});
    w.layout.pp = one_of({1, 2, 3, 5, 7});
    w.layout.dp = one_of({1, 2, 3, 6});
    w.layout.cp = one_of({1, 1, 2, 3});
    w.layout.ep = one_of({1, 1, 2, 3});
    w.layout.fsdp = one_of({0, 1}) == 1;
    w.layout.sequence_parallel = one_of({0, 1}) == 1;
    w.micro_batch = one_of({1, 2, 3});
    w.global_batch = one_of({0, 1, 8, 9, 25});
    if (CheckRules(w)) {
      continue;
    }
    ++broken;
    const auto found = FindNearestLayout(w, std::nullopt);
    ASSERT_TRUE(found) << CheckRules(w).error().message;
    EXPECT_FALSE(found->changes.empty());
    const auto summary = Generate({.workload = found->workload});
    ASSERT_TRUE(summary) << summary.error().message;
  }
}

TEST(NearestLayouts, KeepTheNumberOfRanksThatIsAskedFor) {
  Workload w =
      Described(Gpt(R"("batch": {"global": 12, "micro": 1}, "layout": {"tp": 3, "dp": 4})"));
  const auto found = FindNearestLayout(w, 12);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->workload.layout.ranks(), 12);
  EXPECT_EQ(found->changes, std::vector<std::string>{"\"tp\" 4"});
  EXPECT_EQ(found->workload.layout.dp, 3);
}

}  // namespace
}  // namespace reprise
