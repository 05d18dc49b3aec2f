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
               "a vision transformer has no context parallelism"},
        // Two rules: the first is named.
        Broken{Gpt(R"("batch": {"global": 7, "micro": 2}, "layout": {"tp": 3})"),
               "does not divide 4 attention heads"}));

}  // namespace
}  // namespace reprise
