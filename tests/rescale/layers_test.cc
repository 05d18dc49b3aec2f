// A set generated with some layers and rescaled to others is the one that is generated with these,
// node for node, but for the numbers that name nodes and storages.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "predict/rescale/rescale.h"
#include "tests/et_schema/scratch_directory.h"
#include "tests/rescale/generated_sets.h"
#include "tests/rescale/renumbered.h"

namespace reprise {
namespace {

// In the order of their starts, which are counted anew.
std::vector<Node> NodesInOrder(const TraceSet& set, std::int32_t rank) {
  std::vector<Node> nodes = NodesRenumbered(set, rank);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].start_ns = static_cast<std::int64_t>(i);
  }
  return nodes;
}

std::vector<GeneratedJob> JobsOfLayers() {
  const Options plain = {{"zero", "0"}};
  const std::vector<std::pair<std::string, Options>> of_models = {
      {"gpt-small", {}},
      {"gpt-small", {{"tp", "2"}}},
      {"gpt-small", {{"cp", "2"}, {"cp-comm-type", "a2a"}}},
      {"llama-small", {{"cp", "2"}}},
      {"llama-small", {{"cp", "2"}, {"cp-comm-type", "all_gather"}}},
      {"llama-small", {{"tp", "2"}, {"sp", "on"}}},
      {"llama-small", {{"tp", "2"}, {"sp", "on"}, {"overlap", "tp"}}},
      {"llama-small", {{"recompute", "full"}}},
      {"llama-small", {{"recompute", "selective"}}},
      {"llama-small", {{"fp8", "delayed"}}},
      {"llama-small", {{"fp8", "blockwise"}}},
      {"qwen3-moe-small", {{"ep", "2"}}},
      {"mixtral-small", {{"ep", "2"}}},
  };
  const std::vector<Options> of_data = {
      {},
      {{"dp", "1"}},
      {{"overlap", "grad"}},
      {{"steps", "2"}},
      {{"pp", "2"}},
      {{"pp", "2"}, {"schedule", "gpipe"}},
      {{"pp", "2"}, {"schedule", "zb-h1"}},
  };
  std::vector<GeneratedJob> layouts;
  for (const auto& [preset, model] : of_models) {
    for (const Options& data : of_data) {
      layouts.push_back({.preset = preset, .options = model});
      layouts.back().options.insert(data.begin(), data.end());
      layouts.back().options.insert(plain.begin(), plain.end());
    }
  }
  return layouts;
}

TEST(Layers, AreThoseGeneratedInThatNumber) {
  int compared = 0, number = 0;
  for (GeneratedJob layout : EveryNth(JobsOfLayers(), 3)) {
    const bool pipeline = layout.options.contains("pp") || layout.preset == "gpt-small";
    const bool chunks = layout.options.contains("schedule") && layout.options["schedule"][0] == 'i';
    const int unit = (pipeline ? 2 : 1) * (chunks ? 2 : 1);
    const std::int64_t dp = layout.options.erase("dp") > 0 ? 1 : 2;
    auto [from, to] =
        number++ % 2 == 0 ? std::pair(2 * unit, 5 * unit) : std::pair(5 * unit, 3 * unit);
    const ScratchDirectory scratch;
    SCOPED_TRACE(fmt::format("{} dp {}: {} to {}", layout.Text(), dp, from, to));
    const std::string source = scratch.File("from"), expected = scratch.File("to");
    const std::string output = scratch.File("out");
    layout.layers = from;
    if (!MakeSet(layout, dp, 4 * dp, source)) {
      continue;  // no such job
    }
    layout.layers = to;
    ASSERT_TRUE(MakeSet(layout, dp, 4 * dp, expected));
    ++compared;
    const auto summary =
        RescaleSet({.set = source, .directory = output, .layers = to, .costs = AddCosts});
    if (!summary) {
      ADD_FAILURE() << summary.error().message;
      continue;
    }
    EXPECT_EQ(summary->layers->before, from);
    ExpectEqualSets(output, expected, NodesInOrder);
  }
  EXPECT_GE(compared, RunsLong() ? 60 : 20);
}

// What is not known is refused, and says which node it is.
TEST(Layers, ThatAreNotKnownAreRefused) {
  struct Refused {
    GeneratedJob layout;
    std::int64_t layers = 0, after = 0;
    const char* message;
  };
  const std::vector<Refused> all = {
      {{.preset = "llama-small", .options = {{"zero", "0"}}}, 1, 4, "at least two layers"},
      {{.preset = "llama-small", .options = {{"zero", "0"}}}, 4, 4, "as many already"},
      {{.preset = "llama-small", .options = {{"zero", "0"}, {"pp", "2"}}}, 4, 7, "multiple of 2"},
      {{.preset = "llama-small", .options = {{"zero", "1"}}}, 4, 8, "several layers"},
      {{.preset = "llama-small", .options = {{"fsdp", "on"}}}, 2, 8, "node|at least two layers"},
      {{.preset = "gpt-small", .options = {{"pp", "2"}, {"schedule", "zb-v"}}},
       8,
       12,
       "differs from layer"},
  };
  for (Refused one : all) {
    SCOPED_TRACE(fmt::format("{}: {} to {}", one.layout.Text(), one.layers, one.after));
    const ScratchDirectory scratch;
    one.layout.layers = one.layers;
    ASSERT_TRUE(MakeSet(one.layout, 2, 4, scratch.File("from")));
    const auto summary = RescaleSet({.set = scratch.File("from"),
                                     .directory = scratch.File("out"),
                                     .layers = one.after,
                                     .costs = AddCosts});
    ASSERT_FALSE(summary);
    EXPECT_THAT(summary.error().message, testing::ContainsRegex(one.message));
    EXPECT_FALSE(std::filesystem::exists(scratch.File("out")));
  }
}

}  // namespace
}  // namespace reprise
