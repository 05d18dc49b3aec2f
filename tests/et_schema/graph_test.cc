#include "et_schema/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "et_schema/trace_set.h"
#include "tests/et_schema/random_node.h"
#include "tests/et_schema/scratch_directory.h"
#include "tests/et_schema/trace_files.h"

namespace reprise {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Graph, IsInOrderOfStart) {
  auto graph = Graph::Build(
      {}, {MakeNode(30, 300, {10}), MakeNode(10, 100), MakeNode(20, 200), MakeNode(21, 200)});
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_EQ(graph->size(), 4U);
  EXPECT_EQ(graph->id(0), 10U);
  EXPECT_EQ(graph->id(1), 20U);
  EXPECT_EQ(graph->id(2), 21U);
  EXPECT_EQ(graph->id(3), 30U);
  EXPECT_THAT(graph->deps(3), ElementsAre(0U));
  EXPECT_EQ(graph->reasons(3)[0], EdgeReason::kThread);
  EXPECT_THAT(graph->order(), ElementsAre(0U, 1U, 2U, 3U));
  EXPECT_EQ(graph->FindId(21), 2U);
  EXPECT_EQ(graph->FindId(22), std::nullopt);
}

TEST(Graph, OrderPutsDependenciesFirstThenStart) {
  // 1 starts first but waits for 4; 2 and 3 are free.
  auto graph = Graph::Build({}, {MakeNode(1, 10, {4}), MakeNode(2, 20), MakeNode(3, 30),
                                 MakeNode(4, 40), MakeNode(5, 50, {1})});
  ASSERT_TRUE(graph);
  std::vector<std::uint64_t> ids;
  for (const Graph::Index i : graph->order()) {
    ids.push_back(graph->id(i));
  }
  EXPECT_THAT(ids, ElementsAre(2, 3, 4, 1, 5));
}

TEST(Graph, DropsAndCountsDanglingDependencies) {
  auto graph = Graph::Build({}, {MakeNode(1, 0, {99, 98}), MakeNode(2, 1, {1, 97})});
  ASSERT_TRUE(graph);
  EXPECT_TRUE(graph->deps(0).empty());
  EXPECT_THAT(graph->deps(1), ElementsAre(0U));
  const auto counters = graph->diagnostics().Snapshot();
  EXPECT_EQ(counters.at("dangling_dependency").count, 3U);
  EXPECT_THAT(counters.at("dangling_dependency").examples[0], HasSubstr("node 1 waits for 99"));
}

TEST(Graph, RefusesDuplicateIds) {
  const auto graph =
      Graph::Build({}, {MakeNode(7, 0), MakeNode(8, 1), MakeNode(7, 2), MakeNode(8, 3)});
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(graph.error().message, AllOf(HasSubstr("2 nodes"), HasSubstr("7, 8")));
}

TEST(Graph, RefusesCyclesAndNamesThem) {
  const auto graph = Graph::Build({}, {MakeNode(1, 0), MakeNode(2, 1, {1, 4}), MakeNode(3, 2, {2}),
                                       MakeNode(4, 3, {3}), MakeNode(5, 4, {4})});
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().message, AllOf(HasSubstr("cycle of 3 nodes"), HasSubstr("2, 4, 3, 2"),
                                           HasSubstr("4 nodes can never start")));
}

TEST(Graph, RefusesANodeThatWaitsForItself) {
  const auto graph = Graph::Build({}, {MakeNode(6, 0, {6})});
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().message, HasSubstr("cycle of 1 nodes"));
}

TEST(Graph, EmptyTraceIsAGraph) {
  const auto graph = Graph::Build({}, {});
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->size(), 0U);
  EXPECT_TRUE(graph->order().empty());
  EXPECT_EQ(graph->FindId(0), std::nullopt);
}

TEST(Graph, BuildEqualsLoad) {
  const ScratchDirectory scratch;
  RandomNodes random(21);
  std::vector<Node> nodes;
  for (int i = 0; i < 300; ++i) {
    nodes.push_back(random.Next());
  }
  ASSERT_TRUE(WriteTrace(scratch.File("x.0.et"), nodes));
  const auto loaded = Graph::Load(scratch.File("x.0.et"));
  const auto built = Graph::Build({}, nodes);
  ASSERT_TRUE(loaded);
  ASSERT_TRUE(built);
  ASSERT_EQ(loaded->size(), built->size());
  for (Graph::Index i = 0; i < built->size(); ++i) {
    EXPECT_EQ(*loaded->Decode(i), *built->Decode(i));
    EXPECT_EQ(loaded->Call(i)->inputs, built->Call(i)->inputs);
  }
}

// The promise of the header, on nodes like a converter's (a million: bench/et_reader_bench).
TEST(Graph, IsCompact) {
  const ScratchDirectory scratch;
  constexpr std::uint64_t kNodes = 20'000;
  std::vector<Node> nodes;
  for (std::uint64_t i = 1; i <= kNodes; ++i) {
    Node node = MakeNode(i, static_cast<std::int64_t>(i) * 1000);
    if (i > 2) {
      node.deps = {{.node_id = i - 1, .reason = EdgeReason::kThread},
                   {.node_id = i - 2, .reason = EdgeReason::kData}};
    }
    node.op_schema = "aten::mm(Tensor self, Tensor mat2) -> Tensor";
    node.parent = "aten::matmul";
    for (int t = 0; t < 3; ++t) {
      TensorDesc tensor;
      tensor.tensor_id = static_cast<std::int64_t>(i * 7);
      tensor.storage_id = static_cast<std::int64_t>(i * 7 + 1);
      tensor.incarnation = static_cast<std::int64_t>(i);
      tensor.elements = 4096;
      tensor.dtype = DType::kFloat32;
      tensor.shape = {64, 64};
      tensor.strides = {64, 1};
      tensor.device = "cuda:0";
      (t < 2 ? node.inputs : node.outputs).push_back({tensor});
    }
    nodes.push_back(std::move(node));
  }
  ASSERT_TRUE(WriteTrace(scratch.File("x.0.et"), nodes));
  const auto graph = Graph::Load(scratch.File("x.0.et"));
  ASSERT_TRUE(graph);
  EXPECT_LT(graph->MemoryBytes() / kNodes, 300U);
  EXPECT_EQ(*graph->Decode(kNodes / 2), nodes[kNodes / 2]);
}

TEST(Validate, CollectsEverythingThatIsWrong) {
  const ScratchDirectory scratch;
  const std::string path = scratch.File("x.0.et");
  Node negative = MakeNode(9, 90);
  negative.duration_ns = -1;
  Node early = MakeNode(10, 95, {9});
  early.delay_ns = -5;
  early.step = 3;
  Node transfer = MakeNode(11, 96);
  transfer.type = NodeType::kCommSend;
  transfer.comm = CommSpec{.kind = CommKind::kSend, .certainty = GroupCertainty::kUnknown};
  ASSERT_TRUE(
      WriteTrace(path, {MakeNode(1, 0), MakeNode(1, 1), MakeNode(2, 2, {3}), MakeNode(3, 3, {2}),
                        MakeNode(4, 4, {1000}), negative, early, transfer}));
  const ValidationReport report = ValidateFile(path);
  EXPECT_EQ(report.nodes, 8U);
  EXPECT_EQ(report.edges, 4U);
  EXPECT_THAT(report.errors, testing::UnorderedElementsAre(HasSubstr("id that another node has: 1"),
                                                           HasSubstr("cycle of 2 nodes"),
                                                           HasSubstr("node 9: negative duration")));
  EXPECT_THAT(report.warnings,
              testing::UnorderedElementsAre(
                  HasSubstr("dangling_dependency"), HasSubstr("node 10: starts before"),
                  HasSubstr("node 11: transfer of unknown peer"), HasSubstr("node 10: step")));
}

TEST(Validate, AcceptsAGoodFile) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(WriteTrace(scratch.File("x.0.et"), {MakeNode(1, 0), MakeNode(2, 1, {1})}));
  const ValidationReport report = ValidateFile(scratch.File("x.0.et"));
  EXPECT_EQ(report.nodes, 2U);
  EXPECT_TRUE(report.errors.empty());
  EXPECT_TRUE(report.warnings.empty());
}

}  // namespace
}  // namespace reprise
