// Sets generated at two sizes, and their comparison: for tests that rescale one to the other.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "converters/operation_cost.h"
#include "core/for_each_read.h"
#include "et_schema/io.h"
#include "et_schema/trace_set.h"
#include "predict/operator_work.h"
#include "predict/workload/job/generate.h"
#include "predict/workload/job/options.h"
#include "tests/every_nth.h"

namespace reprise {

using Options = std::map<std::string, std::string>;

struct GeneratedJob {
  std::string preset;
  Options options;
  std::int64_t step = 1;  // data-parallel ranks come in multiples of this
  // 0: those of the preset.
  std::int64_t layers = 0;
  std::int64_t heads = 0, kv_heads = 0, tp = 0;
  std::int64_t experts = 0, ffn = 0;
  bool grouped_experts = false, separate_experts = false;
  std::int64_t micro_batch = 1;  // samples

  [[nodiscard]] std::string Text() const {
    std::string text = preset;
    for (const auto& [name, value] : options) {
      text += fmt::format(" {}={}", name, value);
    }
    return text;
  }
};

inline void AddCosts(Node& node) {
  static const CostTable table = OperatorCosts();
  AddCost(table, node);
}

// False: the job is none.
inline bool MakeSet(const GeneratedJob& layout, std::int64_t dp, std::int64_t micro_batches,
                    const std::string& directory) {
  JobOptions options;
  options.what = layout.preset;
  for (const auto& [name, text] : layout.options) {
    EXPECT_TRUE(SetJobOption(name, text, options)) << name;
  }
  options.dp = dp;
  options.micro_batch = layout.micro_batch;
  options.global_batch = micro_batches * layout.micro_batch * dp;
  auto workload = MakeJob(options);
  if (!workload) {
    return false;
  }
  ModelShape& model = workload->model;
  model.ffn = layout.ffn > 0 ? layout.ffn : model.ffn;
  model.layers = layout.layers > 0 ? layout.layers : model.layers;
  model.heads = layout.heads > 0 ? layout.heads : model.heads;
  model.kv_heads = layout.kv_heads > 0 ? layout.kv_heads : model.kv_heads;
  if (model.experts > 0) {
    model.experts = layout.experts > 0 ? layout.experts : model.experts;
    model.grouped_experts = layout.grouped_experts && !layout.separate_experts;
  }
  workload->layout.tp = layout.tp > 0 ? layout.tp : workload->layout.tp;
  const GenerateRequest request{.workload = *workload, .directory = directory, .costs = AddCosts};
  const auto made = Generate(request);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return made.has_value();
}

inline std::vector<Node> NodesOf(const TraceSet& set, std::int32_t rank) {
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
inline std::vector<std::int32_t> MembersOf(const TraceSet& set, const Node& node) {
  const auto group = set.FindGroup(node.comm->group);
  return group ? group->ranks : std::vector<std::int32_t>{};
}

inline std::string TextOf(const ValueList& values) {
  std::string text;
  for (const Value& value : values) {
    if (const TensorDesc* const tensor = value.AsTensor()) {
      text += fmt::format("{}/{}/{}+{}[{}]({}) ", tensor->incarnation, tensor->tensor_id,
                          tensor->storage_id, tensor->offset, fmt::join(tensor->shape, ","),
                          fmt::join(tensor->strides, ","));
    } else if (const ValueList* const list = value.AsList()) {
      text += "(" + TextOf(*list) + ") ";
    } else {
      text += fmt::format("{} ", value.AsNumber<double>(0));
    }
  }
  return text;
}

inline std::string TextOf(const Node& node) {
  std::string text =
      fmt::format("node {} {} rf {} seq {} ops {} bytes {} start {} waits for", node.id, node.name,
                  node.rf_id, node.seq_id, node.num_ops, node.tensor_bytes, node.start_ns);
  for (const Dependency& dependency : node.deps) {
    text += fmt::format(" {}({})", dependency.node_id, Name(dependency.reason));
  }
  if (node.comm) {
    text += fmt::format("; {} {} #{} {}", Name(node.comm->kind), node.comm->group, node.comm->index,
                        node.comm->sequence);
  }
  return text + "\n" + TextOf(node.inputs) + "-> " + TextOf(node.outputs);
}

// Both have the same nodes in the same order, but for labels and groups' ids.
inline void ExpectEqual(const TraceSet& rescaled, std::vector<Node> got, const TraceSet& generated,
                        std::vector<Node> expected, std::int32_t rank) {
  for (std::size_t i = 0; i < std::min(got.size(), expected.size()); ++i) {
    Node& node = got[i];
    Node& other = expected[i];
    if (node.comm && other.comm) {
      ASSERT_EQ(MembersOf(rescaled, node), MembersOf(generated, other)) << node.id;
      node.comm->group = other.comm->group;
    }
    node.rescaled = Rescaled::kNo;
    ASSERT_TRUE(node == other) << "rank " << rank << "\n" << TextOf(node) << "\n" << TextOf(other);
  }
  ASSERT_EQ(got.size(), expected.size());
}

// A rank of each class of either set.
inline std::set<std::int32_t> RanksToCompare(const TraceSet& a, const TraceSet& b) {
  std::set<std::int32_t> ranks;
  for (const TraceSet* const set : {&a, &b}) {
    for (const TraceSet::DistinctRank& one : set->DistinctRanks()) {
      ranks.insert(one.rank);
    }
  }
  return ranks;
}

// Of the two sets, those of their ranks that have files of their own, and the last one.
template <typename Read>
void ExpectEqualSets(const std::string& rescaled_set, const std::string& generated_set,
                     const Read& read) {
  const auto rescaled = TraceSet::Open(rescaled_set), generated = TraceSet::Open(generated_set);
  ASSERT_TRUE(rescaled && generated);
  ASSERT_EQ(rescaled->world_size, generated->world_size);
  std::set<std::int32_t> ranks = RanksToCompare(*rescaled, *generated);
  ranks.insert(rescaled->world_size - 1);
  for (const std::int32_t rank : ranks) {
    ASSERT_NO_FATAL_FAILURE(
        ExpectEqual(*rescaled, read(*rescaled, rank), *generated, read(*generated, rank), rank));
  }
}

}  // namespace reprise
