// Calls whose number of pieces differs from one micro-batch to the next, and waits at the end of a
// step for what each micro-batch sent.
#include <gmock/gmock.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "predict/rescale/micro_batch_places.h"
#include "predict/rescale/micro_batches.h"
#include "predict/rescale/repeated_nodes.h"

namespace reprise {
namespace {

constexpr std::int64_t kSends = 4;

class Program {
 public:
  Program() {
    for (std::int64_t m = 0; m < kSends; ++m) {
      Host("aten::embedding", "", OpKind::kWork, OpClass::kIndex);
      Send(m, m % 2 == 0 ? 1 : 3);
      // Some schedules number their passes.
      Host("aten::mm", "Backward " + std::to_string(m), OpKind::kWork, OpClass::kGemm);
    }
    for (const std::uint64_t send : sends_) {
      Node& wait = Host("c10d::wait", "", OpKind::kWait, OpClass::kHost);
      wait.deps.push_back({send, EdgeReason::kCommWait});
    }
  }

  [[nodiscard]] Graph MakeGraph() const {
    TraceMetadata header;
    header.world_size = 2;
    header.steps = {{"step", 0, 1000}};
    return *Graph::Build(header, nodes_);
  }

 private:
  Node& Add(const char* name, OpKind kind, OpClass op_class) {
    Node& node = nodes_.emplace_back();
    node.id = nodes_.size();
    node.name = name;
    node.type = NodeType::kComp;
    node.kind = kind;
    node.op_class = op_class;
    node.start_ns = 10 * static_cast<std::int64_t>(node.id);
    node.duration_ns = 10;
    node.step = 0;
    return node;
  }
  Node& Host(const char* name, const std::string& parent, OpKind kind, OpClass op_class) {
    Node& node = Add(name, kind, op_class);
    node.actor = {Actor::Kind::kThread, 1, -1};
    node.parent = parent;
    node.rf_id = static_cast<std::int64_t>(100 + node.id);
    if (last_ != 0) {
      node.deps.push_back({last_, EdgeReason::kThread});
    }
    last_ = node.id;
    return node;
  }
  void Send(std::int64_t index, int pieces) {
    const std::int64_t call = Host("c10d::send", "", OpKind::kMetadata, OpClass::kHost).rf_id;
    Node& send = Add("c10d::send", OpKind::kComm, OpClass::kComm);
    send.actor = {Actor::Kind::kGroup, 0, -1};
    send.type = NodeType::kCommSend;
    send.deps = {{last_, EdgeReason::kLaunch}};
    send.comm = CommSpec{.kind = CommKind::kSend, .group = "0", .index = index};
    send.comm->in_bytes = 4;
    send.comm->peer = 1;
    sends_.push_back(send.id);
    for (int piece = 1; piece < pieces; ++piece) {
      Host("c10d::send", "", OpKind::kMetadata, OpClass::kHost).rf_id = call;
    }
  }

  std::vector<Node> nodes_;
  std::vector<std::uint64_t> sends_;
  std::uint64_t last_ = 0;
};

TEST(MicroBatchPieces, FollowTheirCalls) {
  const Program program;
  const Graph graph = program.MakeGraph();
  const auto found = FindMicroBatches(graph);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->count, kSends);
  EXPECT_EQ(found->together, 1);
  for (const std::int64_t more : {3, -2}) {
    SCOPED_TRACE(more);
    const MicroBatchPlaces places(*found, more);
    auto repeated = RepeatedNodes::Create(graph, places, nullptr, 0);
    ASSERT_TRUE(repeated) << repeated.error().message;
    std::map<std::uint64_t, Node> nodes;
    std::multiset<std::int64_t> indices;
    std::map<std::string, std::int64_t> names;
    ASSERT_TRUE(repeated->ForEach([&](Node& node, bool) -> Status {
      EXPECT_TRUE(nodes.try_emplace(node.id, node).second) << node.id;
      ++names[node.comm ? "transfer" : node.name];
      if (node.comm) {
        indices.insert(node.comm->index);
      }
      return {};
    }));
    EXPECT_EQ(names["aten::embedding"], kSends + more);
    EXPECT_EQ(names["aten::mm"], kSends + more);
    EXPECT_EQ(names["c10d::wait"], kSends);  // as the program wrote them
    std::multiset<std::int64_t> expected;
    for (std::int64_t i = 0; i < kSends + more; ++i) {
      expected.insert(i);
    }
    EXPECT_EQ(indices, expected);
    // The last transfers are waited for, each once.
    std::multiset<std::int64_t> waited;
    for (const auto& [id, node] : nodes) {
      for (const Dependency& dependency : node.deps) {
        ASSERT_TRUE(nodes.contains(dependency.node_id)) << id << " " << node.name;
        if (dependency.reason == EdgeReason::kCommWait) {
          waited.insert(nodes.at(dependency.node_id).comm->index);
        }
      }
    }
    expected.clear();
    for (std::int64_t i = std::max<std::int64_t>(0, more); i < kSends + more; ++i) {
      expected.insert(i);
    }
    EXPECT_EQ(waited, expected);
  }
}

TEST(MicroBatchPieces, WithoutASecondPartNothingIsFound) {
  TraceMetadata header;
  header.steps = {{"step", 0, 1000}};
  Node node;
  node.id = 1;
  node.name = "aten::mm";
  node.type = NodeType::kComp;
  node.step = 0;
  const auto found = FindMicroBatches(*Graph::Build(header, {node}));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::kBadInput);
}

}  // namespace
}  // namespace reprise
