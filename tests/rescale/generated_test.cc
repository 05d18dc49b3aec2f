// A set generated at one number of data-parallel ranks and rescaled to another is the one that is
// generated at the other, node for node.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "converters/operation_cost.h"
#include "core/for_each_read.h"
#include "et_schema/io.h"
#include "et_schema/trace_set.h"
#include "predict/operator_work.h"
#include "predict/rescale/rescale.h"
#include "predict/workload/job/generate.h"
#include "predict/workload/job/options.h"
#include "tests/et_schema/scratch_directory.h"

namespace reprise {
namespace {

using Options = std::map<std::string, std::string>;

struct Layout {
  std::string preset;
  Options options;
  std::int64_t step = 1;  // data-parallel ranks come in multiples of this
};

void AddCosts(Node& node) {
  static const CostTable table = OperatorCosts();
  AddCost(table, node);
}

// The same micro-batches a rank, whatever their number. Nothing: the job is none.
bool MakeSet(const Layout& layout, std::int64_t dp, const std::string& directory) {
  JobOptions options;
  options.what = layout.preset;
  for (const auto& [name, text] : layout.options) {
    EXPECT_TRUE(SetJobOption(name, text, options)) << name;
  }
  options.dp = dp;
  options.micro_batch = 1;
  options.global_batch = 4 * dp;
  const auto workload = MakeJob(options);
  if (!workload) {
    return false;
  }
  const GenerateRequest request{.workload = *workload, .directory = directory, .costs = AddCosts};
  const auto made = Generate(request);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return made.has_value();
}

std::vector<Node> NodesOf(const TraceSet& set, std::int32_t rank) {
  std::vector<Node> nodes;
  const auto reader = EtReader::Open(set.RankPath(rank));
  EXPECT_TRUE(reader);
  const Status read = ForEachRead<Node>(**reader, [&nodes](const Node& node) -> Status {
    nodes.push_back(node);
    return {};
  });
  EXPECT_TRUE(read);
  return nodes;
}

// Of a node's group: its members, since ids may count in another order.
std::vector<std::int32_t> MembersOf(const TraceSet& set, const Node& node) {
  const auto group = set.FindGroup(node.comm->group);
  return group ? group->ranks : std::vector<std::int32_t>{};
}

std::string TextOf(const ValueList& values) {
  std::string text;
  for (const TensorDesc* const tensor : TensorsIn(values)) {
    text += fmt::format("{}+{}[{}] ", tensor->incarnation, tensor->offset,
                        fmt::join(tensor->shape, ","));
  }
  return text;
}

void ExpectEqual(const TraceSet& rescaled, const TraceSet& generated, std::int32_t rank) {
  const std::vector<Node> got = NodesOf(rescaled, rank), expected = NodesOf(generated, rank);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    Node node = got[i], other = expected[i];
    if (node.comm && other.comm) {
      ASSERT_EQ(MembersOf(rescaled, node), MembersOf(generated, other)) << node.id;
      node.comm->group = other.comm->group;
    }
    node.rescaled = Rescaled::kNo;
    ASSERT_TRUE(node == other) << "rank " << rank << " node " << node.id << " " << node.name << "\n"
                               << TextOf(node.inputs) << "-> " << TextOf(node.outputs) << "\n"
                               << TextOf(other.inputs) << "-> " << TextOf(other.outputs) << "\n"
                               << node.num_ops << " " << other.num_ops << " " << node.tensor_bytes
                               << " " << other.tensor_bytes;
  }
}

std::vector<Layout> Layouts() {
  std::vector<Layout> layouts;
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
      {"vit-small", {}},
      {"qwen3-moe-small", {{"ep", "2"}}},
      {"mixtral-small", {{"ep", "2"}}},
      {"gpt-oss-small", {{"ep", "2"}}},
      {"deepseek-small", {{"ep", "2"}}},
  };
  for (const auto& [preset, model] : of_models) {
    for (const Options& data : of_data) {
      Layout layout{.preset = preset, .options = model};
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
  for (const Layout& layout : Layouts()) {
    std::string what = layout.preset;
    for (const auto& [name, text] : layout.options) {
      what += fmt::format(" {}={}", name, text);
    }
    SCOPED_TRACE(what);
    const bool experts = layout.options.contains("ep") || layout.step > 1;
    const std::int64_t from = experts ? 4 : 2, to = experts ? 8 : 4;
    const std::string source = scratch.File(fmt::format("from{}", number));
    const std::string expected = scratch.File(fmt::format("to{}", number));
    const std::string output = scratch.File(fmt::format("out{}", number++));
    if (!MakeSet(layout, from, source) || !MakeSet(layout, to, expected)) {
      continue;  // no such job
    }
    ++compared;
    const auto summary =
        RescaleSet({.set = source, .directory = output, .data_parallel = to, .costs = AddCosts});
    if (!summary) {
      ADD_FAILURE() << summary.error().message;
      continue;
    }
    const auto rescaled = TraceSet::Open(output), generated = TraceSet::Open(expected);
    ASSERT_TRUE(rescaled && generated);
    ASSERT_EQ(rescaled->world_size, generated->world_size);
    std::set<std::int32_t> ranks;  // one of each class of either
    for (const TraceSet* const set : {&*rescaled, &*generated}) {
      for (const TraceSet::DistinctRank& one : set->DistinctRanks()) {
        ranks.insert(one.rank);
      }
    }
    ranks.insert(rescaled->world_size - 1);
    for (const std::int32_t rank : ranks) {
      ASSERT_NO_FATAL_FAILURE(ExpectEqual(*rescaled, *generated, rank));
    }
  }
  EXPECT_GE(compared, 60);
}

}  // namespace
}  // namespace reprise
