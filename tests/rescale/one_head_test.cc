// A set in which each tensor-parallel rank has one head of queries, or of keys and values, before
// or after: it is the one that is generated so, node for node.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/output_kind.h"
#include "predict/rescale/rescale.h"
#include "tests/et_schema/scratch_directory.h"
#include "tests/rescale/generated_sets.h"

namespace reprise {
namespace {

struct HeadsAmongRanks {
  std::int64_t heads = 0, kv_heads = 0;
  std::int64_t from = 0, to = 0;
};

GeneratedJob JobOfHeads(GeneratedJob layout, const HeadsAmongRanks& heads, std::int64_t tp) {
  layout.options["tp"] = "2";
  layout.heads = heads.heads;
  layout.kv_heads = heads.kv_heads;
  layout.tp = tp;
  return layout;
}

// The stride of a dimension of one element addresses nothing.
void ClearStridesOfOne(ValueList& values) {
  for (Value& value : values) {
    if (TensorDesc* const tensor = value.AsTensor()) {
      for (std::size_t dim = 0; dim < tensor->shape.size(); ++dim) {
        tensor->strides[dim] = tensor->shape[dim] == 1 ? 0 : tensor->strides[dim];
      }
    } else if (ValueList* const list = value.AsList()) {
      ClearStridesOfOne(*list);
    }
  }
}
std::vector<Node> NodesWithoutStridesOfOne(const TraceSet& set, std::int32_t rank) {
  std::vector<Node> nodes = NodesOf(set, rank);
  for (Node& node : nodes) {
    ClearStridesOfOne(node.inputs);
    ClearStridesOfOne(node.outputs);
  }
  return nodes;
}

Result<RescaleSummary> RescaleTensors(const std::string& source, const std::string& output,
                                      std::int64_t to, std::int64_t kv_heads = 0) {
  return RescaleSet({.set = source,
                     .directory = output,
                     .tensor_parallel = to,
                     .kv_heads = kv_heads,
                     .costs = AddCosts});
}

std::vector<GeneratedJob> JobsOfFewHeads() {
  const std::vector<std::pair<std::string, Options>> of_models = {
      {"gpt-small", {{"pp", "1"}}},
      {"gpt-small", {{"pp", "1"}, {"sp", "on"}, {"dtype", "bfloat16"}}},
      {"llama-small", {}},
      {"llama-small", {{"sp", "off"}, {"overlap", "none"}}},
      {"llama-small", {{"recompute", "full"}}},
      {"llama-small", {{"recompute", "selective"}, {"dtype", "bfloat16"}}},
      {"llama-small", {{"cp", "2"}, {"cp-comm-type", "all_gather"}, {"sequence", "128"}}},
      {"llama-small", {{"fp8", "delayed"}}},
      {"llama-small", {{"pp", "2"}}},
      {"llama-small", {{"zero", "1"}, {"overlap", "grad+param"}}},
      {"vit-small", {}},
  };
  std::vector<GeneratedJob> layouts;
  for (const auto& [preset, options] : of_models) {
    for (const std::int64_t micro_batch : {1, 2}) {
      layouts.push_back({.preset = preset, .options = options, .micro_batch = micro_batch});
      layouts.back().options.try_emplace("zero", "0");
      if (preset != "vit-small") {
        layouts.back().options.try_emplace("sequence", "64");
      }
    }
  }
  return layouts;
}

TEST(OneHead, OfTensorRanksIsThatGenerated) {
  const std::vector<HeadsAmongRanks> all = {{4, 4, 4, 2}, {4, 4, 2, 4},  {8, 4, 4, 2},
                                            {8, 4, 2, 4}, {16, 8, 8, 2}, {16, 8, 4, 8}};
  int compared = 0;
  for (const GeneratedJob& layout : JobsOfFewHeads()) {
    for (const HeadsAmongRanks& heads : all) {
      const ScratchDirectory scratch;
      SCOPED_TRACE(fmt::format("{} micro-batch {}: {} and {} heads, {} to {}", layout.Text(),
                               layout.micro_batch, heads.heads, heads.kv_heads, heads.from,
                               heads.to));
      const std::string source = scratch.File("from"), expected = scratch.File("to");
      const std::string output = scratch.File("out");
      if (!MakeSet(JobOfHeads(layout, heads, heads.from), 2, 4, source) ||
          !MakeSet(JobOfHeads(layout, heads, heads.to), 2, 4, expected)) {
        continue;  // no such job
      }
      const bool is_in_doubt = layout.options.contains("cp") && layout.micro_batch == 1 &&
                               heads.heads == heads.kv_heads && heads.from > heads.to;
      if (is_in_doubt) {
        continue;  // refused, below
      }
      ++compared;
      const auto summary = RescaleTensors(source, output, heads.to);
      if (!summary) {
        ADD_FAILURE() << summary.error().message;
        continue;
      }
      ExpectEqualSets(output, expected, NodesWithoutStridesOfOne);
    }
  }
  EXPECT_GE(compared, 100);
}

// What is not known is refused, and says which node it is.
TEST(OneHead, ThatIsNotKnownIsRefused) {
  struct Refused {
    GeneratedJob layout;
    HeadsAmongRanks heads;
    const char* message;
  };
  const Options plain = {{"zero", "0"}, {"sequence", "64"}};
  const auto with = [&plain](Options more) {
    more.insert(plain.begin(), plain.end());
    return more;
  };
  const std::vector<Refused> all = {
      {{.preset = "llama-small", .options = plain}, {8, 4, 4, 8}, "node .*2 and 4 ranks divide"},
      {{.preset = "gpt-small", .options = with({{"pp", "1"}})}, {4, 4, 4, 8}, "2 and 4 ranks"},
      // Keys and values that travel have their heads before their tokens. Of one head that is no
      // difference, and no copy is needed.
      {{.preset = "llama-small", .options = with({{"cp", "2"}}), .micro_batch = 1},
       {8, 4, 4, 2},
       "node .*not known"},
      {{.preset = "llama-small", .options = with({{"cp", "2"}}), .micro_batch = 2},
       {8, 4, 4, 2},
       "node .*not known"},
      {{.preset = "llama-small", .options = with({{"cp", "2"}}), .micro_batch = 2},
       {8, 4, 2, 4},
       "node .*needs no copy"},
      {{.preset = "llama-small", .options = with({{"cp", "2"}, {"cp-comm-type", "all_gather"}})},
       {4, 4, 4, 2},
       "node .*before its tokens"},
      {{.preset = "llama-small", .options = with({{"documents", "40+24"}})},
       {8, 4, 4, 2},
       "node .*can't divide"},
  };
  for (const Refused& one : all) {
    SCOPED_TRACE(fmt::format("{} micro-batch {}: {} to {}", one.layout.Text(),
                             one.layout.micro_batch, one.heads.from, one.heads.to));
    const ScratchDirectory scratch;
    ASSERT_TRUE(
        MakeSet(JobOfHeads(one.layout, one.heads, one.heads.from), 2, 4, scratch.File("from")));
    const auto summary = RescaleTensors(scratch.File("from"), scratch.File("out"), one.heads.to);
    ASSERT_FALSE(summary);
    EXPECT_THAT(summary.error().message, testing::ContainsRegex(one.message));
    EXPECT_FALSE(std::filesystem::exists(scratch.File("out")));
  }
}

// Without the backward pass of attention.
void RemoveBackward(const std::string& directory) {
  std::filesystem::remove(std::filesystem::path(directory) / kChecksumsFile);
  const auto set = TraceSet::Open(directory);
  ASSERT_TRUE(set);
  for (const TraceSet::DistinctRank& one : set->DistinctRanks()) {
    const std::string path = one.file;
    const auto reader = EtReader::OpenAsItStands(path);
    ASSERT_TRUE(reader);
    const auto writer = EtWriter::Create(path + ".new", (*reader)->metadata());
    ASSERT_TRUE(writer);
    ASSERT_TRUE(ForEachRead<Node>(**reader, [&writer](const Node& node) -> Status {
      const bool backward = node.name.find("backward") != std::string::npos;
      return node.op_class == OpClass::kAttention && backward ? Status{} : (*writer)->Write(node);
    }));
    ASSERT_TRUE((*writer)->Close());
    std::filesystem::rename(path + ".new", path);
  }
}

TEST(OneHead, OfKeysIsAskedForWithoutABackwardPass) {
  const ScratchDirectory scratch;
  const std::string source = scratch.File("from");
  const HeadsAmongRanks heads{8, 4, 4, 2};
  const GeneratedJob layout{.preset = "llama-small",
                            .options = {{"zero", "0"}, {"sequence", "64"}}};
  ASSERT_TRUE(MakeSet(JobOfHeads(layout, heads, 4), 2, 4, source));
  // Training says that ranks do not share heads.
  for (const auto& [kv_heads, message] :
       {std::pair(2, "ranks share heads"), std::pair(8, "expected 4")}) {
    const auto summary = RescaleTensors(source, scratch.File("out"), 2, kv_heads);
    ASSERT_FALSE(summary);
    EXPECT_THAT(summary.error().message, testing::HasSubstr(message));
  }
  EXPECT_TRUE(RescaleTensors(source, scratch.File("same"), 2, 4));
  ASSERT_NO_FATAL_FAILURE(RemoveBackward(source));
  const auto summary = RescaleTensors(source, scratch.File("out"), 2);
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(summary.error().message, testing::HasSubstr("give --kv-heads"));
  const auto given = RescaleTensors(source, scratch.File("out"), 2, 4);
  EXPECT_TRUE(given || given.error().message.find("--kv-heads") == std::string::npos);
}

}  // namespace
}  // namespace reprise
