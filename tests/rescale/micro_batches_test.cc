// A set generated with some micro-batches and rescaled to others is the one that is generated with
// these, node for node, but for the numbers that name nodes and storages.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "predict/rescale/rescale.h"
#include "tests/et_schema/scratch_directory.h"
#include "tests/rescale/generated_sets.h"
#include "tests/rescale/renumbered.h"

namespace reprise {
namespace {

std::vector<GeneratedJob> JobsOfMicroBatches() {
  const std::vector<std::pair<std::string, Options>> of_models = {
      {"gpt-small", {}},
      {"gpt-small", {{"dtype", "float32"}}},
      {"gpt-small", {{"tp", "2"}}},
      {"llama-small", {{"cp", "2"}}},
      {"llama-small", {{"tp", "2"}, {"sp", "on"}}},
      {"llama-small", {{"recompute", "full"}}},
      {"llama-small", {{"fp8", "delayed"}}},
      {"qwen3-moe-small", {{"ep", "2"}}},
      {"mixtral-small", {{"ep", "2"}}},
      {"deepseek-small", {{"ep", "2"}}},
      {"vit-small", {}},
  };
  const std::vector<Options> of_data = {
      {},
      {{"zero", "1"}},
      {{"zero", "2"}},
      {{"zero", "1"}, {"overlap", "grad+param"}},
      {{"fsdp", "on"}},
      {{"fsdp", "on"}, {"overlap", "grad+param"}},
      {{"pp", "2"}},
      {{"pp", "4"}},
      {{"pp", "2"}, {"zero", "1"}, {"overlap", "grad+param"}},
      {{"pp", "2"}, {"schedule", "interleaved:2"}},
      {{"pp", "2"}, {"schedule", "gpipe"}},
  };
  std::vector<GeneratedJob> layouts = {
      {.preset = "gpt-small", .options = {{"steps", "3"}}},
      {.preset = "gpt-small", .options = {{"steps", "2"}, {"pp", "2"}}}};
  for (const auto& [preset, model] : of_models) {
    for (const Options& data : of_data) {
      layouts.push_back({.preset = preset, .options = model});
      layouts.back().options.insert(data.begin(), data.end());
    }
  }
  return layouts;
}

TEST(MicroBatches, AreThoseGeneratedInThatNumber) {
  int compared = 0, number = 0;
  for (const GeneratedJob& layout : EveryNth(JobsOfMicroBatches(), 3)) {
    // More micro-batches and fewer by turns, of plain pipelines very few, too.
    const bool plain_pipeline = layout.options.contains("pp") && layout.options.at("pp") == "2" &&
                                !layout.options.contains("schedule");
    std::vector<std::pair<int, int>> numbers = {number++ % 2 == 0 ? std::pair(8, 12)
                                                                  : std::pair(12, 8)};
    if (plain_pipeline) {
      numbers.emplace_back(12, 4);
    }
    for (const auto& [from, to] : numbers) {
      const ScratchDirectory scratch;
      SCOPED_TRACE(fmt::format("{}: {} to {}", layout.Text(), from, to));
      const std::string source = scratch.File("from"), expected = scratch.File("to");
      const std::string output = scratch.File("out");
      if (!MakeSet(layout, 2, from, source) || !MakeSet(layout, 2, to, expected)) {
        break;  // no such job
      }
      ++compared;
      const auto summary = RescaleSet({.set = source, .directory = output, .micro_batches = to});
      if (!summary) {
        ADD_FAILURE() << summary.error().message;
        continue;
      }
      EXPECT_EQ(summary->micro_batches->before, from);
      ExpectEqualSets(output, expected, NodesRenumbered);
    }
  }
  EXPECT_GE(compared, RunsLong() ? 80 : 26);
}

// Their last passes come in another order than those before, and layers of both chunks look alike.
TEST(MicroBatches, OfAVAreRefused) {
  for (const char* schedule : {"zb-v", "dualpipe-v"}) {
    const ScratchDirectory scratch;
    const std::string source = scratch.File("from");
    ASSERT_TRUE(MakeSet({"gpt-small", {{"pp", "2"}, {"schedule", schedule}}}, 2, 8, source));
    const auto summary =
        RescaleSet({.set = source, .directory = scratch.File("out"), .micro_batches = 12});
    ASSERT_FALSE(summary) << schedule;
    EXPECT_THAT(summary.error().message, testing::HasSubstr("come in another order"));
  }
}

}  // namespace
}  // namespace reprise
