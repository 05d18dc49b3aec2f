#include "et_schema/graph_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "et_schema/io.h"
#include "et_schema/json.h"
#include "et_schema/trace_set.h"
#include "tests/et_schema/scratch_directory.h"

namespace reprise {
namespace {

constexpr char kHostile[] = "a<b> & \"c\" \\d\n\x01";

Node MakeStepNode(std::uint64_t id, const std::string& name, std::int64_t start_ns,
                  std::int32_t step) {
  Node node;
  node.id = id;
  node.name = name;
  node.type = NodeType::kComp;
  node.actor = {Actor::Kind::kThread, 1, -1};
  node.start_ns = start_ns;
  node.duration_ns = 1'500;
  node.step = step;
  return node;
}

std::vector<Node> Nodes() {
  std::vector<Node> nodes = {MakeStepNode(5, kHostile, 0, 0), MakeStepNode(3, "aten::mm", 2'000, 0),
                             MakeStepNode(4, "aten::add", 4'000, 1)};
  nodes[1].op_class = OpClass::kGemm;
  nodes[1].deps = {{5, EdgeReason::kThread, false}};
  nodes[2].deps = {{3, EdgeReason::kData, true}};
  return nodes;
}

Graph MakeGraph(std::int32_t rank) {
  TraceMetadata metadata;
  metadata.rank = rank;
  metadata.world_size = 2;
  return std::move(*Graph::Build(metadata, Nodes()));
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Dot, NodesEdgesAndEscapes) {
  const Graph a = MakeGraph(0), b = MakeGraph(1);
  const Graph* const graphs[] = {&a, &b};
  std::ostringstream out;
  const auto summary = WriteDot(graphs, std::nullopt, out);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->nodes, 6U);
  EXPECT_EQ(summary->edges, 4U);
  const std::string text = out.str();
  EXPECT_TRUE(Contains(text, R"(r0n5 [label="a<b> &amp; \"c\" \\d\\n\\x01\n1.5 us")")) << text;
  EXPECT_TRUE(Contains(text, R"(op_class="gemm", actor="thread 1", start_ns=2000)"));
  EXPECT_TRUE(Contains(text, R"(r0n5 -> r0n3 [reason="thread", inferred=false])"));
  EXPECT_TRUE(Contains(text, R"(r1n3 -> r1n4 [reason="data", inferred=true, style=dashed)"));
  EXPECT_LT(text.find("r0n5 ["), text.find("r0n3 ["));  // by recorded start
  std::ostringstream again;
  ASSERT_TRUE(WriteDot(graphs, std::nullopt, again));
  EXPECT_EQ(again.str(), text);
}

TEST(Dot, OneStepWithoutTheEdgesAcrossItsBorder) {
  const Graph graph = MakeGraph(0);
  const Graph* const graphs[] = {&graph};
  std::ostringstream out;
  const auto summary = WriteDot(graphs, 1, out);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->nodes, 1U);
  EXPECT_EQ(summary->edges, 0U);
  EXPECT_EQ(summary->edges_left_out, 1U);
  EXPECT_FALSE(Contains(out.str(), "r0n3"));
}

TEST(GraphMl, NodesEdgesAndEscapes) {
  const Graph graph = MakeGraph(1);
  const Graph* const graphs[] = {&graph};
  std::ostringstream out;
  const auto summary = WriteGraphMl(graphs, std::nullopt, out);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->nodes, 3U);
  EXPECT_EQ(summary->edges, 2U);
  const std::string text = out.str();
  EXPECT_TRUE(Contains(text,
                       "<node id=\"r1n5\"><data key=\"name\">a&lt;b&gt; &amp; \"c\" \\d\\n"
                       "\\x01</data>"))
      << text;
  EXPECT_TRUE(Contains(text, "<data key=\"class\">gemm</data>"));
  EXPECT_TRUE(Contains(text, "<data key=\"start\">2000</data><data key=\"duration\">1500</data>"));
  EXPECT_TRUE(Contains(text,
                       "<edge source=\"r1n3\" target=\"r1n4\"><data key=\"reason\">data</data>"
                       "<data key=\"inferred\">true</data></edge>"));
}

TEST(GraphText, SaysWhereItCannotWrite) {
  const Graph graph = MakeGraph(0);
  const Graph* const graphs[] = {&graph};
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  EXPECT_FALSE(WriteDot(graphs, std::nullopt, out));
  EXPECT_FALSE(WriteGraphMl(graphs, std::nullopt, out));
}

TEST(Json, OfASetIsOneDocument) {
  const ScratchDirectory scratch;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    TraceMetadata metadata;
    metadata.rank = rank;
    metadata.world_size = 2;
    auto writer = EtWriter::Create(scratch.File("x." + std::to_string(rank) + ".et"), metadata);
    ASSERT_TRUE(writer);
    for (const Node& node : Nodes()) {
      ASSERT_TRUE((*writer)->Write(node));
    }
    ASSERT_TRUE((*writer)->Close());
  }
  ASSERT_TRUE(WriteGroups(scratch.File(""), {{"0", {"0", "default_pg", {0, 1}}}}));
  const auto set = TraceSet::Open(scratch.File(""));
  ASSERT_TRUE(set) << set.error().message;
  std::ostringstream out;
  EXPECT_EQ(*WriteJson(*set, out, 0), 4U);
  const auto json = nlohmann::json::parse(out.str());
  EXPECT_EQ(json.at("world_size"), 2);
  EXPECT_EQ(json.at("groups").at("0").at("ranks"), (std::vector<int>{0, 1}));
  ASSERT_EQ(json.at("ranks").size(), 2U);
  EXPECT_EQ(json.at("ranks")[1].at("metadata").at("rank"), 1);
  EXPECT_EQ(json.at("ranks")[1].at("nodes")[0].at("name"), kHostile);
  EXPECT_EQ(json.at("ranks")[1].at("nodes").size(), 2U);
}

}  // namespace
}  // namespace reprise
