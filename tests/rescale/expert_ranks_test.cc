// A set generated with some expert-parallel ranks and rescaled to others is the one that is
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

// 8 experts, computed all at once where the job does not say otherwise.
GeneratedJob OfExperts(GeneratedJob layout, std::int64_t ep) {
  layout.options["ep"] = std::to_string(ep);
  layout.experts = 8;
  layout.grouped_experts = true;
  return layout;
}

std::vector<GeneratedJob> JobsOfExperts() {
  const std::vector<std::pair<std::string, Options>> of_models = {
      {"mixtral-small", {}},
      {"mixtral-small", {{"recompute", "full"}}},
      {"mixtral-small", {{"recompute", "selective"}, {"recompute-modules", "moe"}}},
      {"mixtral-small", {{"fp8", "delayed"}}},
      {"mixtral-small", {{"fp8", "tensorwise"}}},
      {"mixtral-small", {{"cp", "2"}, {"sequence", "64"}}},
      {"qwen3-moe-small", {}},
      {"qwen3-moe-small", {{"tp", "2"}, {"sp", "on"}}},
      {"qwen3-moe-small", {{"recompute", "full"}}},
      {"gpt-oss-small", {{"pp", "1"}}},
      {"gpt-oss-small", {{"pp", "1"}, {"tp", "2"}, {"sp", "on"}}},
      {"deepseek-small", {}},
      {"deepseek-small", {{"tp", "1"}, {"sp", "off"}}},
  };
  const std::vector<Options> of_data = {
      {{"zero", "0"}},
      {{"zero", "0"}, {"overlap", "grad"}},
      {{"zero", "0"}, {"steps", "2"}},
      {{"zero", "0"}, {"pp", "2"}},
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
bool IsThatGeneratedOfExperts(const GeneratedJob& layout, std::int64_t from, std::int64_t to) {
  const ScratchDirectory scratch;
  SCOPED_TRACE(fmt::format("{}: {} to {}", layout.Text(), from, to));
  const std::string source = scratch.File("from"), expected = scratch.File("to");
  const std::string output = scratch.File("out");
  if (!MakeSet(OfExperts(layout, from), 8, 2, source)) {
    return false;
  }
  EXPECT_TRUE(MakeSet(OfExperts(layout, to), 8, 2, expected));
  const auto summary =
      RescaleSet({.set = source, .directory = output, .expert_parallel = to, .costs = AddCosts});
  EXPECT_TRUE(summary) << (summary ? "" : summary.error().message);
  if (summary) {
    EXPECT_EQ(summary->expert_parallel_before, from);
    EXPECT_EQ(summary->expert_parallel_after, to);
    EXPECT_EQ(summary->ranks_after, summary->ranks_before);
    ExpectEqualSets(output, expected, NodesOf);
  }
  return true;
}

// Layers' experts are in one buffer that no node shows as a whole.
TEST(ExpertRanks, OfLayersInOneBufferAreDividedEach) {
  const GeneratedJob layout{
      .preset = "qwen3-moe-small", .options = {{"zero", "0"}}, .layers = 4, .ffn = 64};
  for (const auto& [from, to] : {std::pair(2, 4), std::pair(4, 2)}) {
    EXPECT_TRUE(IsThatGeneratedOfExperts(layout, from, to));
  }
}

TEST(ExpertRanks, AreThoseGeneratedInThatNumber) {
  int compared = 0, number = 0;
  for (const GeneratedJob& layout : EveryNth(JobsOfExperts(), 5)) {
    const auto [from, to] = number++ % 2 == 0 ? std::pair(2, 4) : std::pair(4, 2);
    compared += IsThatGeneratedOfExperts(layout, from, to) ? 1 : 0;
  }
  EXPECT_GE(compared, RunsLong() ? 60 : 10);
}

// Every node that is another has a label.
TEST(ExpertRanks, ChangeLabelledNodesAlone) {
  const ScratchDirectory scratch;
  const GeneratedJob layout{.preset = "mixtral-small"};
  ASSERT_TRUE(MakeSet(OfExperts(layout, 2), 8, 2, scratch.File("from")));
  const auto summary = RescaleSet({.set = scratch.File("from"),
                                   .directory = scratch.File("out"),
                                   .expert_parallel = 4,
                                   .costs = AddCosts});
  ASSERT_TRUE(summary) << summary.error().message;
  const auto before = TraceSet::Open(scratch.File("from")),
             after = TraceSet::Open(scratch.File("out"));
  ASSERT_TRUE(before && after);
  const std::vector<Node> source = NodesOf(*before, 0), result = NodesOf(*after, 0);
  ASSERT_EQ(source.size(), result.size());
  std::set<Rescaled> labels;
  for (std::size_t i = 0; i < source.size(); ++i) {
    Node plain = result[i];
    labels.insert(plain.rescaled);
    const bool of_others = plain.comm && MembersOf(*after, plain) != MembersOf(*before, source[i]);
    if (plain.comm && !of_others) {
      plain.comm->group = source[i].comm->group;
    }
    if (plain.rescaled == Rescaled::kNo) {
      EXPECT_FALSE(of_others) << TextOf(plain);
      EXPECT_TRUE(plain == source[i]) << TextOf(plain);
    } else {
      plain.rescaled = Rescaled::kNo;
      EXPECT_TRUE(of_others || !(plain == source[i])) << TextOf(plain);
    }
  }
  EXPECT_THAT(labels,
              testing::UnorderedElementsAre(Rescaled::kNo, Rescaled::kGroup, Rescaled::kShard));
}

// What is not known is refused, and says why and what would work.
TEST(ExpertRanks, ThatAreNotKnownAreRefused) {
  struct RefusedExperts {
    GeneratedJob layout;
    std::int64_t from = 0, to = 0;
    const char* message;
  };
  const GeneratedJob mixtral{.preset = "mixtral-small"};
  GeneratedJob separate = mixtral, uneven = mixtral;
  separate.separate_experts = true;
  uneven.options["routing"] = "zipf:1";
  const GeneratedJob fsdp{.preset = "mixtral-small", .options = {{"fsdp", "on"}}};
  const GeneratedJob zero2{.preset = "mixtral-small", .options = {{"zero", "2"}}};
  const GeneratedJob dense{.preset = "llama-small"};
  const std::vector<RefusedExperts> all = {
      {mixtral, 2, 2, "as many"},
      {mixtral, 2, 1, "without expert parallelism.*give 4"},
      {mixtral, 2, 3, "does not divide the 8 ranks.*give 4"},
      {mixtral, 2, 8, "one rank would hold each expert.*give 4"},
      {mixtral, 8, 4, "no neighbours"},
      {mixtral, 1, 4, "no transfers among expert-parallel"},
      {separate, 2, 4, "no grouped product"},
      {uneven, 2, 4, "node .*different numbers of tokens"},
      {fsdp, 2, 4, "node .*not known"},
      {zero2, 2, 4, "node .*not known"},
      {dense, 1, 4, "no transfers among expert-parallel"},
  };
  for (const RefusedExperts& one : all) {
    SCOPED_TRACE(fmt::format("{}: {} to {}", one.layout.Text(), one.from, one.to));
    const ScratchDirectory scratch;
    ASSERT_TRUE(MakeSet(OfExperts(one.layout, one.from), 8, 2, scratch.File("from")));
    const auto summary = RescaleSet({.set = scratch.File("from"),
                                     .directory = scratch.File("out"),
                                     .expert_parallel = one.to,
                                     .costs = AddCosts});
    ASSERT_FALSE(summary);
    EXPECT_THAT(summary.error().message, testing::ContainsRegex(one.message));
    EXPECT_FALSE(std::filesystem::exists(scratch.File("out")));
  }
}

TEST(ExpertRanks, AreChangedTogetherWithOtherSizes) {
  const ScratchDirectory scratch;
  const GeneratedJob layout{.preset = "mixtral-small"};
  ASSERT_TRUE(MakeSet(OfExperts(layout, 2), 8, 2, scratch.File("from")));
  ASSERT_TRUE(MakeSet(OfExperts(layout, 4), 16, 2, scratch.File("to")));
  const auto summary = RescaleSet({.set = scratch.File("from"),
                                   .directory = scratch.File("out"),
                                   .data_parallel = 16,
                                   .expert_parallel = 4,
                                   .costs = AddCosts});
  ASSERT_TRUE(summary) << summary.error().message;
  ExpectEqualSets(scratch.File("out"), scratch.File("to"), NodesOf);
}

}  // namespace
}  // namespace reprise
