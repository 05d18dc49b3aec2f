// Node → file → Node is exact, whatever is in the node, in every compression; and through a Graph.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "et_schema/graph.h"
#include "et_schema/io.h"
#include "tests/et_schema/random_node.h"
#include "tests/et_schema/scratch_directory.h"

namespace reprise {
namespace {

TraceMetadata SomeMetadata() {
  TraceMetadata metadata;
  metadata.version = "1";
  metadata.rank = 3;
  metadata.world_size = 8;
  metadata.base_ns = 1'700'000'000'123'456'789;
  metadata.source = "pytorch „host trace“";
  metadata.steps = {{"ProfilerStep#8", -5, 100}, {"ProfilerStep#9", 95, 1}};
  metadata.ranges = {{"forward", 1, -5, 60, 0}, {"block", 1, 0, 20, 0}, {"forward", 2, 95, 1, 1}};
  metadata.untraced_step_ns = 99;
  metadata.tracing_call_ns = 7;
  metadata.machine = {.processor = "Processor @ 2.50GHz",
                      .device = "GPU 80GB",
                      .framework = "PyTorch 2.10.0",
                      .threads = 4,
                      .cores = 16};
  metadata.clock_offset_ns = -12;
  metadata.clock_drift = 1.25e-6;
  metadata.clock_uncertainty_ns = 40;
  metadata.diagnostics = {{"orphan", 3}, {"parent_repaired", 12}};
  metadata.link = {.method = "alignment",
                   .matched = 7,
                   .host_records = 8,
                   .timed_records = 9,
                   .repeats = 40,
                   .repeat = 11,
                   .choice = "sequence numbers",
                   .repeat_ns = 5,
                   .repeat_median_ns = 6,
                   .threads = {{1, 24248, 3, 4, 5}, {2, -1, 0, 4, 0}},
                   .unmatched = {"host thread 1: aten::mm (node 3)"}};
  return metadata;
}

std::vector<Node> SomeNodes(std::uint64_t seed, int count) {
  RandomNodes random(seed);
  std::vector<Node> nodes(static_cast<std::size_t>(count));
  for (Node& node : nodes) {
    node = random.Next();
  }
  return nodes;
}

void WriteAll(const std::string& path, const std::vector<Node>& nodes) {
  auto writer = EtWriter::Create(path, SomeMetadata());
  ASSERT_TRUE(writer) << writer.error().message;
  for (const Node& node : nodes) {
    const Status status = (*writer)->Write(node);
    ASSERT_TRUE(status) << status.error().message;
  }
  const Status closed = (*writer)->Close();
  ASSERT_TRUE(closed) << closed.error().message;
}

class RoundTrip : public testing::TestWithParam<std::string> {
 protected:
  ScratchDirectory scratch_;
};

TEST_P(RoundTrip, IsExactForRandomNodes) {
  const std::string path = scratch_.File("random.3.et" + GetParam());
  const std::vector<Node> nodes = SomeNodes(42, 2000);
  WriteAll(path, nodes);
  auto reader = EtReader::Open(path);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ((*reader)->metadata(), SomeMetadata());
  Node node;
  for (const Node& expected : nodes) {
    const auto more = (*reader)->Next(node);
    ASSERT_TRUE(more) << more.error().message;
    ASSERT_TRUE(*more);
    ASSERT_EQ(node, expected) << "node " << expected.id << " " << expected.name;
  }
  const auto more = (*reader)->Next(node);
  ASSERT_TRUE(more) << more.error().message;
  EXPECT_FALSE(*more);
  EXPECT_TRUE((*reader)->diagnostics().Empty());
}

TEST_P(RoundTrip, IsExactThroughAGraph) {
  const std::string path = scratch_.File("random.3.et" + GetParam());
  const std::vector<Node> nodes = SomeNodes(7, 500);
  WriteAll(path, nodes);
  auto graph = Graph::Load(path);
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_EQ(graph->size(), nodes.size());
  EXPECT_EQ(graph->metadata(), SomeMetadata());
  for (Graph::Index i = 0; i < graph->size(); ++i) {
    const auto node = graph->Decode(i);
    ASSERT_TRUE(node) << node.error().message;
    EXPECT_EQ(*node, nodes[i]);
    EXPECT_EQ(graph->FindId(nodes[i].id), i);
  }
}

INSTANTIATE_TEST_SUITE_P(Compressions, RoundTrip, testing::Values("", ".gz", ".zst"),
                         [](const auto& info) {
                           return info.param.empty() ? "plain" : info.param.substr(1);
                         });

TEST(Writer, SameNodesGiveSameBytes) {
  const ScratchDirectory scratch;
  const std::vector<Node> nodes = SomeNodes(1, 50);
  for (const std::string ending : {".et", ".et.gz", ".et.zst"}) {
    WriteAll(scratch.File("a" + ending), nodes);
    WriteAll(scratch.File("b" + ending), nodes);
    EXPECT_EQ(ReadFile(scratch.File("a" + ending)), ReadFile(scratch.File("b" + ending)));
  }
}

TEST(Writer, LeavesNothingBehindWithoutClose) {
  const ScratchDirectory scratch;
  {
    auto writer = EtWriter::Create(scratch.File("x.0.et"), {});
    ASSERT_TRUE(writer);
    ASSERT_TRUE((*writer)->Write({.id = 1}));
  }
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
}

TEST(Writer, RefusesATransferWithoutSpec) {
  const ScratchDirectory scratch;
  auto writer = EtWriter::Create(scratch.File("x.0.et"), {});
  ASSERT_TRUE(writer);
  Node node;
  node.id = 17;
  node.type = NodeType::kCommColl;
  const Status status = (*writer)->Write(node);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, testing::HasSubstr("node 17"));
  node.comm = CommSpec{.kind = CommKind::kSend};
  EXPECT_FALSE((*writer)->Write(node));
}

TEST(Writer, ReplacesInvalidUtf8) {
  const ScratchDirectory scratch;
  const std::string path = scratch.File("x.0.et");
  WriteAll(path, {{.id = 1, .name = "bad \xff name"}});
  auto reader = EtReader::Open(path);
  ASSERT_TRUE(reader);
  Node node;
  ASSERT_TRUE((*reader)->Next(node));
  EXPECT_EQ(node.name, "bad \xef\xbf\xbd name");
}

TEST(Writer, ReportsAnImpossiblePath) {
  const ScratchDirectory scratch;
  WriteAll(scratch.File("file"), {});
  // Missing directories are created; below a file there can be none.
  const auto writer = EtWriter::Create(scratch.File("file/x.et"), {});
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().kind, ErrorKind::kEnvironment);
}

}  // namespace
}  // namespace reprise
