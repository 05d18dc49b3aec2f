// A set generated with some tensor-parallel ranks and rescaled to others is the one that is
// generated with these, node for node.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "predict/rescale/rescale.h"
#include "tests/et_schema/scratch_directory.h"
#include "tests/rescale/generated_sets.h"

namespace reprise {
namespace {

// 8 heads: presets have too few for 4 ranks. They are checked with 2.
GeneratedJob OfTensorRanks(GeneratedJob layout, std::int64_t tp) {
  layout.options["tp"] = "2";
  layout.heads = layout.kv_heads = 8;
  layout.tp = tp;
  return layout;
}

std::vector<GeneratedJob> JobsOfTensorRanks() {
  const std::vector<std::pair<std::string, Options>> of_models = {
      {"gpt-small", {}},
      {"gpt-small", {{"dtype", "float32"}}},
      {"llama-small", {}},
      {"llama-small", {{"sp", "off"}, {"overlap", "none"}}},
      {"llama-small", {{"recompute", "full"}}},
      {"llama-small", {{"recompute", "selective"}}},
      {"llama-small", {{"cp", "2"}, {"sequence", "64"}}},
      {"llama-small", {{"cp", "2"}, {"cp-comm-type", "all_gather"}, {"sequence", "64"}}},
      {"llama-small", {{"cp", "2"}, {"cp-comm-type", "a2a"}, {"sequence", "64"}}},
      {"llama-small", {{"fp8", "delayed"}}},
      {"llama-small", {{"fp8", "blockwise"}}},
      {"llama-small", {{"fp8", "mxfp8"}}},
      {"gpt-small", {{"sp", "on"}}},
      {"vit-small", {}},
  };
  const std::vector<Options> of_data = {
      {{"zero", "0"}},
      {{"zero", "0"}, {"overlap", "grad"}},
      {{"zero", "0"}, {"steps", "2"}},
      {{"zero", "0"}, {"documents", "20+12"}},
      {{"zero", "0"}, {"pp", "2"}},
      {{"zero", "0"}, {"pp", "2"}, {"schedule", "gpipe"}},
      {{"zero", "0"}, {"pp", "2"}, {"schedule", "zb-v"}},
      {{"zero", "1"}},
      {{"zero", "1"}, {"overlap", "grad+param"}},
  };
  std::vector<GeneratedJob> layouts;
  for (const auto& [preset, model] : of_models) {
    for (const Options& data : of_data) {
      layouts.push_back({.preset = preset, .options = model});
      layouts.back().options.insert(data.begin(), data.end());
    }
  }
  return layouts;
}

// False: there is no such job.
bool IsThatGenerated(const GeneratedJob& layout, std::int64_t from, std::int64_t to) {
  const ScratchDirectory scratch;
  SCOPED_TRACE(fmt::format("{}: {} to {}", layout.Text(), from, to));
  const std::string source = scratch.File("from"), expected = scratch.File("to");
  const std::string output = scratch.File("out");
  if (!MakeSet(OfTensorRanks(layout, from), 2, 4, source)) {
    return false;
  }
  EXPECT_TRUE(MakeSet(OfTensorRanks(layout, to), 2, 4, expected));
  const auto summary =
      RescaleSet({.set = source, .directory = output, .tensor_parallel = to, .costs = AddCosts});
  EXPECT_TRUE(summary) << (summary ? "" : summary.error().message);
  if (summary) {
    EXPECT_EQ(summary->tensor_parallel_before, from);
    ExpectEqualSets(output, expected, NodesOf);
  }
  return true;
}

TEST(TensorRanks, AreThoseGeneratedInThatNumber) {
  int compared = 0, number = 0;
  for (const GeneratedJob& layout : JobsOfTensorRanks()) {
    const auto [from, to] = number++ % 2 == 0 ? std::pair(2, 4) : std::pair(4, 2);
    compared += IsThatGenerated(layout, from, to) ? 1 : 0;
  }
  EXPECT_GE(compared, 60);
}

// Products in 4 bits need larger matrices than the presets'.
TEST(TensorRanks, OfNumbersThatArePacked) {
  const ScratchDirectory scratch;
  const GeneratedJob layout{.preset = scratch.File("job.json")};
  WriteFile(layout.preset,
            R"({"model": {"family": "llama", "layers": 2, "hidden": 256, "heads": 8, "ffn": 512,
                          "vocab": 512, "sequence": 64},
                "layout": {"tp": 2, "dp": 2, "sequence_parallel": true},
                "batch": {"global": 8, "micro": 1}, "fp8": "nvfp4"})");
  EXPECT_TRUE(IsThatGenerated(layout, 2, 4));
  EXPECT_TRUE(IsThatGenerated(layout, 4, 2));
}

// What is not known is refused, and says which node it is.
TEST(TensorRanks, ThatAreNotKnownAreRefused) {
  struct Refused {
    GeneratedJob layout;
    std::int64_t from = 0, to = 0;
    const char* message;
  };
  const std::vector<Refused> all = {
      {{.preset = "llama-small", .options = {{"zero", "0"}}}, 2, 2, "as many"},
      {{.preset = "llama-small", .options = {{"zero", "0"}}}, 2, 1, "no tensor|without tensor"},
      {{.preset = "llama-small", .options = {{"zero", "0"}}}, 2, 3, "node .*3 ranks can't"},
      {{.preset = "llama-small", .options = {{"zero", "2"}}}, 2, 4, "node .*not known"},
      // One token for each rank.
      {{.preset = "llama-small", .options = {{"zero", "0"}, {"sequence", "4"}}},
       4,
       2,
       "node .*can't"},
      {{.preset = "llama-small", .options = {{"fsdp", "on"}}}, 4, 2, "node .*not known"},
      {{.preset = "llama-lora-small"}, 2, 4, "node .*no transfer"},
      {{.preset = "qwen3-moe-small", .options = {{"ep", "2"}}}, 2, 4, "node .*no transfer"},
  };
  for (const Refused& one : all) {
    SCOPED_TRACE(fmt::format("{}: {} to {}", one.layout.Text(), one.from, one.to));
    const ScratchDirectory scratch;
    ASSERT_TRUE(MakeSet(OfTensorRanks(one.layout, one.from), 2, 4, scratch.File("from")));
    const auto summary = RescaleSet({.set = scratch.File("from"),
                                     .directory = scratch.File("out"),
                                     .tensor_parallel = one.to,
                                     .costs = AddCosts});
    ASSERT_FALSE(summary);
    EXPECT_THAT(summary.error().message, testing::ContainsRegex(one.message));
    EXPECT_FALSE(std::filesystem::exists(scratch.File("out")));
  }
}

}  // namespace
}  // namespace reprise
