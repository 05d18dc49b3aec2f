// A set generated at one number of data-parallel ranks and rescaled to another is the one that is
// generated at the other, node for node.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>
#include <string>
#include <vector>

#include "predict/rescale/rescale.h"
#include "tests/et_schema/scratch_directory.h"
#include "tests/rescale/generated_sets.h"

namespace reprise {
namespace {

std::vector<GeneratedJob> JobsOfReplicas() {
  std::vector<GeneratedJob> layouts;
  const std::vector<Options> of_data = {
      {},
      {{"zero", "1"}},
      {{"zero", "2"}},
      {{"zero", "3"}},
      {{"zero", "1"}, {"overlap", "grad+param"}},
      {{"fsdp", "on"}, {"overlap", "grad+param"}},
  };
  const std::vector<std::pair<std::string, Options>> of_models = {
      {"gpt-small", {}},
      {"gpt-small", {{"tp", "2"}}},
      {"gpt-small", {{"pp", "2"}}},
      {"gpt-small", {{"tp", "2"}, {"pp", "2"}, {"dtype", "float32"}}},
      {"llama-small", {}},
      {"llama-small", {{"cp", "2"}}},
      {"llama-small", {{"tp", "2"}, {"sp", "on"}}},
      {"llama-small", {{"recompute", "full"}}},
      {"llama-small", {{"fp8", "delayed"}}},
      {"llama-lora-small", {}},
      {"llama-lora-small", {{"tp", "1"}, {"sp", "off"}, {"lora-targets", "q_proj+v_proj"}}},
      {"vit-small", {}},
      {"dit-small", {}},
      {"qwen3-moe-small", {{"ep", "2"}}},
      {"mixtral-small", {{"ep", "2"}}},
      {"gpt-oss-small", {{"ep", "2"}}},
      {"deepseek-small", {{"ep", "2"}}},
  };
  for (const auto& [preset, model] : of_models) {
    for (const Options& data : of_data) {
      GeneratedJob layout{.preset = preset, .options = model};
      layout.options.insert(data.begin(), data.end());
      layouts.push_back(layout);
    }
  }
  layouts.push_back({"llama-small", {{"fsdp", "on"}, {"shards", "2"}}, 2});
  return layouts;
}

TEST(RescaledSets, AreThoseGeneratedAtThatSize) {
  const ScratchDirectory scratch;
  int number = 0, compared = 0;
  for (const GeneratedJob& layout : EveryNth(JobsOfReplicas(), 3)) {
    SCOPED_TRACE(layout.Text());
    const bool experts = layout.options.contains("ep") || layout.step > 1;
    const std::int64_t from = experts ? 4 : 2, to = experts ? 8 : 4;
    const std::string source = scratch.File(fmt::format("from{}", number));
    const std::string expected = scratch.File(fmt::format("to{}", number));
    const std::string output = scratch.File(fmt::format("out{}", number++));
    if (!MakeSet(layout, from, 4, source) || !MakeSet(layout, to, 4, expected)) {
      continue;  // no such job
    }
    ++compared;
    const auto summary =
        RescaleSet({.set = source, .directory = output, .data_parallel = to, .costs = AddCosts});
    if (!summary) {
      ADD_FAILURE() << summary.error().message;
      continue;
    }
    ExpectEqualSets(output, expected, NodesOf);
  }
  EXPECT_GE(compared, RunsLong() ? 60 : 20);
}

}  // namespace
}  // namespace reprise
