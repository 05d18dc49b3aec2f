// A set of two ranks with known times, for the tests of cli/: each rank computes, issues an
// asynchronous all_reduce, computes on, waits for it, and finishes; then rank 0 sends to rank 1.
#pragma once

#include <string>
#include <vector>

#include "et_schema/graph.h"

namespace reprise {

constexpr std::int64_t kMicrosecondNs = 1000;

// Ids of a rank's nodes.
enum TestNodeId : std::uint64_t {
  kForward = 1,
  kAllReduceNode,
  kBackward,
  kWaitNode,
  kOptimizer,
  kPeerNode,
};

struct TestRank {
  TraceMetadata metadata;
  std::vector<Node> nodes;

  Node& operator[](std::uint64_t id) {
    for (Node& node : nodes) {
      if (node.id == id) return node;
    }
    return nodes.front();
  }
  [[nodiscard]] Graph Build() const { return Graph::Build(metadata, nodes).value(); }
};

inline Node MakeNode(std::uint64_t id, const std::string& name, std::int64_t start_us,
                     std::int64_t end_us, std::vector<Dependency> deps) {
  Node node;
  node.id = id;
  node.name = name;
  node.type = NodeType::kComp;
  node.actor = {Actor::Kind::kThread, 1, -1};
  node.start_ns = start_us * kMicrosecondNs;
  node.duration_ns = (end_us - start_us) * kMicrosecondNs;
  node.deps = std::move(deps);
  node.step = 0;
  return node;
}

// Rank 0 arrives at the all_reduce at 120 us, rank 1 at 320; they end at 600 and 610. Delays are as
// a converter computes them.
inline TestRank MakeTestRank(std::int32_t rank) {
  const std::int64_t arrival = rank == 0 ? 120 : 320;
  const std::int64_t end = rank == 0 ? 600 : 610;
  TestRank made;
  made.metadata.rank = rank;
  made.metadata.world_size = 2;
  made.metadata.base_ns = 1'790'857'026'000'000'000;
  made.metadata.steps = {{"ProfilerStep#1", 0, 1000 * kMicrosecondNs}};
  const auto thread = EdgeReason::kThread;
  made.nodes = {
      MakeNode(kForward, "aten::mm", 10, arrival - 5, {}),
      MakeNode(kAllReduceNode, "c10d::allreduce_", arrival, end, {{kForward, EdgeReason::kLaunch}}),
      MakeNode(kBackward, "aten::mm", arrival + 10, arrival + 60, {{kForward, thread}}),
      MakeNode(kWaitNode, "c10d wait", end, end + 15,
               {{kBackward, thread}, {kAllReduceNode, EdgeReason::kCommWait}}),
      MakeNode(kOptimizer, "aten::add_", end + 20, end + 50, {{kWaitNode, thread}}),
      MakeNode(kPeerNode, rank == 0 ? "send" : "recv", end + 60, rank == 0 ? 700 : 720,
               {{kOptimizer, EdgeReason::kLaunch}}),
  };
  Node& reduce = made[kAllReduceNode];
  reduce.type = NodeType::kCommColl;
  reduce.kind = OpKind::kComm;
  reduce.actor.kind = Actor::Kind::kGroup;
  reduce.transfer_ns = (end - 320) * kMicrosecondNs;
  reduce.comm.emplace();
  reduce.comm->group = "0";
  reduce.comm->dtype = DType::kFloat32;
  reduce.comm->in_bytes = reduce.comm->out_bytes = 4096;
  made[kWaitNode].kind = OpKind::kWait;
  Node& peer = made[kPeerNode];
  peer.type = rank == 0 ? NodeType::kCommSend : NodeType::kCommRecv;
  peer.kind = OpKind::kComm;
  peer.actor.kind = Actor::Kind::kGroup;
  peer.comm.emplace();
  peer.comm->kind = rank == 0 ? CommKind::kSend : CommKind::kRecv;
  peer.comm->group = "0";
  peer.comm->peer = 1 - rank;
  peer.comm->dtype = DType::kFloat32;
  (rank == 0 ? peer.comm->in_bytes : peer.comm->out_bytes) = 256;
  peer.transfer_ns = (rank == 0 ? 700 - 670 : 720 - 670) * kMicrosecondNs;
  for (Node& node : made.nodes) {
    std::int64_t latest_ns = 0;
    for (const Dependency& dep : node.deps) {
      latest_ns = std::max(latest_ns, made[dep.node_id].start_ns + made[dep.node_id].duration_ns);
    }
    node.delay_ns = node.start_ns - latest_ns;
  }
  return made;
}

}  // namespace reprise
